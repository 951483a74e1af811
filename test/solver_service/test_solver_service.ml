(* The service as its clients meet it: a process, sockets, curl. *)

let case name f = Alcotest.test_case name `Quick f

let contains text part =
  let n = String.length part in
  let rec at i = i + n <= String.length text && (String.sub text i n = part || at (i + 1)) in
  at 0

let says text part = if not (contains text part) then Alcotest.failf "no %S in:\n%s" part text

(* Only a service that hangs waits that long. *)
let rec wait_until ?(turns = 6_000) what condition =
  if turns = 0 then Alcotest.failf "%s: not within 60 s" what;
  if not (condition ()) then begin
    Unix.sleepf 0.01;
    wait_until ~turns:(turns - 1) what condition
  end

(* {2 The process} *)

type service = { pid : int; port : int; output : in_channel; log : string }

let program = "../../examples/solver_service/main.exe"

let start ?(files = 1_000) ?errors arguments =
  let log = Filename.temp_file "muster_solver" ".log" in
  let from, into = Unix.pipe ~cloexec:true () in
  let to_log = Unix.openfile log [ O_WRONLY; O_CLOEXEC ] 0 in
  let errors = Option.value errors ~default:to_log in
  let command = Filename.quote_command program ("--port=0" :: arguments) in
  let line = Printf.sprintf "ulimit -n %d; exec %s" files command in
  let pid = Unix.create_process "/bin/sh" [| "sh"; "-c"; line |] Unix.stdin into errors in
  List.iter Unix.close [ into; to_log ];
  let output = Unix.in_channel_of_descr from in
  let line = Option.value (In_channel.input_line output) ~default:"nothing" in
  match Scanf.sscanf_opt line "listening on port %d" Fun.id with
  | Some port -> { pid; port; output; log }
  | None -> Alcotest.failf "it says %s" line

let logged service = In_channel.with_open_bin service.log In_channel.input_all

(* It ends by itself, in order. *)
let ended service =
  let _, status = Unix.waitpid [] service.pid in
  let log = logged service in
  Sys.remove service.log;
  close_in service.output;
  if status <> WEXITED 0 then Alcotest.failf "it does not end in order, having said:\n%s" log

let with_service ?files ?errors arguments f =
  let service = start ?files ?errors arguments in
  f service;
  Unix.kill service.pid Sys.sigterm;
  ended service

(* {2 Clients} *)

let connect { port; _ } =
  let socket = Unix.(socket ~cloexec:true PF_INET SOCK_STREAM 0) in
  Unix.setsockopt_float socket SO_RCVTIMEO 60.;
  Unix.connect socket (ADDR_INET (Unix.inet_addr_loopback, port));
  socket

let send socket text = ignore (Unix.write_substring socket text 0 (String.length text) : int)

let sent service text =
  let socket = connect service in
  send socket text;
  socket

(* All that comes until the service closes. *)
let received socket =
  let input = Unix.in_channel_of_descr socket in
  let text = In_channel.input_all input in
  close_in input;
  text

(* Until that has come. *)
let awaits socket text =
  let piece = Bytes.create 4_096 and so_far = Buffer.create 4_096 in
  while not (contains (Buffer.contents so_far) text) do
    match Unix.read socket piece 0 4_096 with
    | 0 -> Alcotest.failf "no %S in:\n%s" text (Buffer.contents so_far)
    | n -> Buffer.add_subbytes so_far piece 0 n
  done

let get ?(keep = false) path =
  let connection = if keep then "" else "Connection: close\r\n" in
  Printf.sprintf "GET %s HTTP/1.1\r\nHost: here\r\n%s\r\n" path connection

let asked service path = sent service (get path)

let status answer =
  match Scanf.sscanf_opt answer "HTTP/1.1 %d" Fun.id with
  | Some status -> status
  | None -> Alcotest.failf "no answer of HTTP: %S" answer

let body answer =
  match Str.bounded_split_delim (Str.regexp "\r\n\r\n") answer 2 with
  | [ _; body ] -> body
  | _ -> Alcotest.failf "no body in %S" answer

let expect what expected socket =
  let answer = received socket in
  Alcotest.(check int) (what ^ "\n" ^ answer) expected (status answer);
  answer

let answers service path expected saying =
  says (body (expect path expected (asked service path))) saying

(* A service of little patience gives up requests where the machine stops it for so long. *)
let answers_in_time service =
  wait_until "an answer in time" (fun () ->
      let reply = received (asked service "/solve?pkg=newest") in
      let is_answered = status reply = 200 in
      if is_answered then says (body reply) "newest.1.10";
      is_answered)

let metrics service = body (received (asked service "/metrics"))
let shows service line = contains (metrics service) line
let waits service line = wait_until line (fun () -> shows service line)
let busy n = Printf.sprintf "muster_workers_busy{name=\"solver\"} %d\n" n
let queued n = Printf.sprintf "muster_workers_queued{name=\"solver\"} %d\n" n
let jobs outcome n = Printf.sprintf "jobs_total{name=\"solver\",outcome=%S} %d\n" outcome n

(* {2 Cases} *)

(* A repository with a package of which the test says when it can be read. *)
let slow_tree () =
  let root = Fixture.tree () in
  Fixture.add_slow root "slow";
  root

let with_slow ?files arguments f =
  let root = slow_tree () in
  with_service ?files (("--opam=" ^ root) :: arguments) (f root)

let routes () =
  with_slow [] @@ fun _ service ->
  answers service "/ping" 200 "pong";
  answers service "/solve?pkg=lib&ocaml=4.14.2" 200 "lib.2.0 ocaml.4.14.2\n";
  answers service "/solve?pkg=both" 422 "no solution";
  answers service "/solve?pkg=nothing" 404 "no such package: nothing";
  answers service "/solve?ocaml=5.4.0" 400 "which package";
  answers service "/solve?pkg=g++&ocaml=" 200 "g++.1\n";
  answers service "/solve?pkg=g%2B%2b" 200 "g++.1\n";
  answers service "/" 404 "nothing at /";
  answers service "/metrics" 200 "muster_workers_size";
  let head = expect "HEAD" 200 (sent service "HEAD /ping HTTP/1.0\r\n\r\n") in
  says head "content-length: 5\r\n";
  Alcotest.(check string) "no body" "" (body head)

let by_curl () =
  if Sys.command "curl --version > /dev/null 2>&1" <> 0 then Alcotest.skip ();
  with_slow [] @@ fun _ service ->
  let url = Printf.sprintf "http://localhost:%d/solve" service.port in
  let file = Filename.concat (Fixture.folder ()) "answer" in
  let pair = "pkg=newest" and other = "ocaml=5.4.0" in
  Fixture.run "curl"
    [ "-sSf"; "--get"; "-d"; pair; "-d"; other; url; "-o"; file ];
  Alcotest.(check string)
    "answer" "newest.1.10\n"
    (In_channel.with_open_bin file In_channel.input_all)

let keeps_alive () =
  with_slow [] @@ fun _ service ->
  let text =
    get ~keep:true "/ping" ^ get ~keep:true "/solve?pkg=newest" ^ get ~keep:true "/nothing"
    ^ get "/solve?pkg=lib&ocaml=3.12"
  in
  let said = received (sent service text) in
  let status answer = if contains answer " 404 " then 404 else 200 in
  let statuses = List.map status (List.tl (Str.split_delim (Str.regexp "HTTP/1.1") said)) in
  Alcotest.(check (list int)) said [ 200; 200; 404; 200 ] statuses;
  says said "lib.1.0"

let full () =
  with_slow [ "--workers=1"; "--queue=1" ] @@ fun root service ->
  let first = asked service "/solve?pkg=slow" in
  waits service (busy 1);
  let second = asked service "/solve?pkg=newest" in
  waits service (queued 1);
  let third = expect "third" 503 (asked service "/solve?pkg=newest") in
  says third "retry-after: 1\r\n";
  answers service "/ping" 200 "pong";
  Fixture.release root "slow";
  says (expect "first" 200 first) "slow.1";
  says (expect "second" 200 second) "newest.1.10";
  waits service (jobs "full" 1)

let out_of_time () =
  with_slow [ "--workers=1"; "--deadline=0.3" ] @@ fun _ service ->
  let slow = asked service "/solve?pkg=slow" and behind = asked service "/solve?pkg=newest" in
  ignore (expect "slow" 504 slow : string);
  ignore (status (received behind) : int);
  answers_in_time service

let hangs_up () =
  with_slow [ "--workers=1" ] @@ fun _ service ->
  let running = asked service "/solve?pkg=slow" in
  waits service (busy 1);
  let waiting = asked service "/solve?pkg=slow" in
  waits service (queued 1);
  Unix.close waiting;
  waits service (queued 0);
  Unix.close running;
  waits service (busy 0);
  waits service (jobs "cancelled" 2);
  let says_more = asked service "/solve?pkg=slow" in
  waits service (busy 1);
  send says_more (get "/ping");
  Unix.sleepf 0.1;
  Unix.close says_more;
  waits service (jobs "cancelled" 3);
  answers service "/solve?pkg=newest" 200 "newest.1.10"

let is_refused service =
  match connect service with
  | exception Unix.Unix_error (ECONNREFUSED, _, _) -> true
  | socket ->
    Unix.close socket;
    false

(* The clients that are there when the signal comes are answered, others find nobody. *)
let ends ?(arguments = []) signal ~grace expected () =
  let root = slow_tree () in
  let service = start (("--opam=" ^ root) :: ("--grace=" ^ grace) :: arguments) in
  let slow = asked service "/solve?pkg=slow" and idle = sent service (get ~keep:true "/ping") in
  awaits idle "pong";
  if contains (metrics service) "solver" then waits service (busy 1);
  Unix.kill service.pid signal;
  wait_until "it takes no more clients" (fun () -> is_refused service);
  if expected = 200 then Fixture.release root "slow";
  ignore (expect "slow" expected slow : string);
  Alcotest.(check string) "idle" "" (received idle);
  ended service

(* So are those whose requests the service has not read, or not even accepted. *)
let ends_amid_requests () =
  let root = Fixture.tree () in
  let service = start [ "--opam=" ^ root ] in
  answers service "/solve?pkg=newest" 200 "newest.1.10";
  let sockets = List.init 200 (fun _ -> asked service "/solve?pkg=newest") in
  Unix.kill service.pid Sys.sigterm;
  let is_answered socket = List.mem (status (received socket)) [ 200; 503 ] in
  Alcotest.(check bool) "answers" true (List.for_all is_answered sockets);
  ended service

(* Ctrl-C, and then a supervisor that has waited long enough. *)
let ends_at_once () =
  let service = start [ "--opam=" ^ slow_tree (); "--grace=60" ] in
  let client = asked service "/solve?pkg=slow" in
  waits service (busy 1);
  Unix.kill service.pid Sys.sigint;
  wait_until "it takes no more clients" (fun () -> is_refused service);
  Unix.kill service.pid Sys.sigterm;
  Unix.close client;
  match Unix.waitpid [] service.pid with
  | _, WSIGNALED signal when signal = Sys.sigterm -> ()
  | _ -> Alcotest.fail "it ends in order"

(* Longer than clients have to take their answers. *)
let ends_on_eio's_pool () =
  let root = slow_tree () in
  let service = start [ "--opam=" ^ root; "--executor-pool"; "--workers=1"; "--grace=60" ] in
  let slow = asked service "/solve?pkg=slow" in
  Unix.sleepf 0.5;
  Unix.kill service.pid Sys.sigterm;
  Unix.sleepf 1.5;
  Fixture.release root "slow";
  says (expect "slow" 200 slow) "slow.1";
  ended service

let reloads () =
  with_slow [ "--workers=2" ] @@ fun root service ->
  let slow = asked service "/solve?pkg=slow" in
  waits service (busy 1);
  answers service "/solve?pkg=newest" 200 "newest.1.10";
  Fixture.add root ("newest", "2", []);
  answers service "/solve?pkg=newest" 200 "newest.1.10";
  Unix.kill service.pid Sys.sighup;
  wait_until "the new version" (fun () ->
      contains (received (asked service "/solve?pkg=newest")) "newest.2");
  Unix.rename (Filename.concat root "packages") (Filename.concat root "away");
  Unix.kill service.pid Sys.sighup;
  wait_until "it says so" (fun () -> contains (logged service) "stays as it is");
  answers service "/solve?pkg=newest" 200 "newest.2";
  Unix.rename (Filename.concat root "away") (Filename.concat root "packages");
  Fixture.release root "slow";
  says (expect "slow" 200 slow) "slow.1"

(* The archive is a pipe: it comes as late as the test writes it. A deadline or the end of the service
   does not wait for it, and it serves the solves that come after. *)
let slow_repository () =
  let root = Fixture.tree () in
  let archive = Filename.concat root "archive" in
  Unix.mkfifo archive 0o600;
  let service = start [ "--opam=" ^ archive; "--deadline=0.3"; "--grace=0.1" ] in
  ignore (expect "not there yet" 504 (asked service "/solve?pkg=newest") : string);
  Fixture.run "tar" [ "-cf"; archive; "-C"; root; "packages" ];
  answers_in_time service;
  Unix.kill service.pid Sys.sighup;
  Unix.sleepf 0.2;
  answers_in_time service;
  Unix.kill service.pid Sys.sigterm;
  wait_until "its end" (fun () -> is_refused service);
  ended service;
  let service = start [ "--opam=" ^ archive; "--grace=0.1" ] in
  let client = asked service "/solve?pkg=newest" in
  waits service (busy 1);
  Unix.kill service.pid Sys.sigterm;
  ignore (expect "at the end" 503 client : string);
  ended service;
  (* Ends the processes that still wait for the archive. *)
  Unix.close (Unix.openfile archive [ O_RDWR ] 0)

(* Each gets an answer or an end, and then the next client finds all as before. *)
let bad_clients () =
  with_slow [ "--workers=1" ] @@ fun _ service ->
  let refused what expected text = ignore (expect what expected (sent service text) : string) in
  refused "no HTTP" 400 "\001\002\003\r\n\r\n";
  refused "a torn line" 400 "GET\r\n\r\n";
  refused "a torn header" 400 "GET /ping HTTP/1.1\r\nno colon\r\n\r\n";
  refused "a long path" 431 (get ("/" ^ String.make 100_000 'x'));
  refused "many headers" 431
    ("GET /ping HTTP/1.1\r\n" ^ String.concat "" (List.init 9_000 (Printf.sprintf "x%d: y\r\n")));
  refused "another method" 405 "POST /solve HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
  let smuggled = get ~keep:true "/solve?pkg=newest" in
  let field name value = Printf.sprintf "GET /ping HTTP/1.1\r\n%s: %s\r\n\r\n%s" name value smuggled in
  let once what text =
    let said = expect what 200 (sent service text) in
    Alcotest.(check bool) (what ^ said) false (contains said "newest")
  in
  once "a body" (field "Content-Length" (string_of_int (String.length smuggled)));
  once "a body in chunks" (field "Transfer-Encoding" "chunked");
  once "a body of two lengths"
    (field "Content-Length" (Printf.sprintf "%d\r\nContent-Length: 0" (String.length smuggled)));
  refused "no such package" 404 (get "/solve?pkg=%ff%00%0d%0a../..");
  answers service "/solve?pkg=newest" 200 "newest.1.10"

let slow_clients () =
  with_slow [ "--workers=1"; "--patience=2" ] @@ fun _ service ->
  let slow = sent service "GET /ping HTTP/1.1\r\nHost" and silent = connect service in
  ignore (expect "a slow head" 408 slow : string);
  Alcotest.(check string) "silence" "" (received silent);
  answers_in_time service

(* It asks much and takes nothing: its connection is cut off when the buffers are full. *)
let never_reads () =
  with_slow [ "--workers=1"; "--patience=2" ] @@ fun _ service ->
  let socket = connect service in
  Unix.setsockopt_float socket SO_SNDTIMEO 60.;
  let requests = String.concat "" (List.init 100 (fun _ -> get ~keep:true "/metrics")) in
  let rec ask () =
    send socket requests;
    ask ()
  in
  (match ask () with
  | () -> ()
  | exception Unix.Unix_error ((EPIPE | ECONNRESET), _, _) -> ());
  Unix.close socket;
  answers_in_time service

let more_than_files ~files domains () =
  with_slow ~files [ "--workers=1"; "--accept-domains=" ^ domains ] @@ fun _ service ->
  let clients = List.init 100 (fun _ -> connect service) in
  wait_until "it says so" (fun () -> contains (logged service) "open files");
  List.iter Unix.close clients;
  answers service "/solve?pkg=newest" 200 "newest.1.10"

let several_loops () =
  with_slow [ "--accept-domains=2"; "--workers=2" ] @@ fun _ service ->
  let ask i = asked service (if i mod 2 = 0 then "/ping" else "/solve?pkg=newest") in
  let sockets = List.init 100 ask in
  List.iter (fun socket -> ignore (expect "answer" 200 socket : string)) sockets

(* While one solve waits for a file, another is asked for. *)
let one_loop () =
  with_slow [ "--workers=0" ] @@ fun root service ->
  Fixture.add root ("slower", "1", [ {|depends: [ "slow" "lib" ]|} ]);
  let ask package ocaml =
    let socket = asked service (Printf.sprintf "/solve?pkg=%s&ocaml=%s" package ocaml) in
    answers service "/ping" 200 "pong";
    Unix.sleepf 0.1;
    socket
  in
  let slow = ask "slower" "5.4.0" in
  let other = ask "lib" "4.14.2" in
  Fixture.release root "slow";
  says (expect "slow" 200 slow) "lib.2.1 ocaml.5.4.0 slow.1 slower.1\n";
  says (expect "other" 200 other) "lib.2.0 ocaml.4.14.2\n"

let bad_arguments () =
  let refuses argument =
    let status = Sys.command (Filename.quote_command program ~stderr:"/dev/null" [ argument ]) in
    Alcotest.(check int) argument 124 status
  in
  List.iter refuses [ "--port=65536"; "--accept-domains=1000"; "--workers=-1"; "--deadline=nan" ]

let unreadable_at_first () =
  let root = Filename.concat (Fixture.folder ()) "later" and tree = Fixture.tree () in
  Fixture.add tree ("torn", "1", [ "depends: [" ]);
  with_service [ "--opam=" ^ root ] @@ fun service ->
  answers service "/solve?pkg=newest" 500 "the solve failed";
  Unix.rename tree root;
  answers service "/solve?pkg=newest" 200 "newest.1.10";
  answers service "/solve?pkg=torn" 500 "the solve failed";
  Fixture.add root ("torn", "1", []);
  answers service "/solve?pkg=torn" 200 "torn.1"

let unread_log () =
  let nobody, errors = Unix.pipe ~cloexec:true () in
  Unix.close nobody;
  with_service ~errors [ "--opam=/none" ] @@ fun service ->
  Unix.close errors;
  answers service "/solve?pkg=newest" 500 "the solve failed";
  answers service "/ping" 200 "pong"

let elsewhere arguments () =
  with_slow arguments @@ fun _ service ->
  answers service "/solve?pkg=newest" 200 "newest.1.10";
  answers service "/solve?pkg=both" 422 "no solution"

(* {2 The real repository} *)

let data = List.fold_left Filename.concat (Filename.dirname Sys.executable_name)
let shared = data [ "../../../../../shared/data" ]
let archive = Filename.concat shared "opam-repository-full.tar.xz"
let expected = Filename.concat shared "solver-requests-expected.tsv"

let digest_of service package ocaml =
  let answer = received (asked service (Printf.sprintf "/solve?pkg=%s&ocaml=%s" package ocaml)) in
  match status answer with
  | 200 -> Digest.to_hex (Digest.string (String.trim (body answer)))
  | 422 -> "-"
  | _ -> answer

let all_answers () =
  if not (Sys.file_exists archive) then Alcotest.skip ();
  with_service [ "--opam=" ^ archive; "--workers=2" ] @@ fun service ->
  let lines = Array.of_list (In_channel.with_open_bin expected In_channel.input_lines) in
  let next = Atomic.make 0 and wrong = Atomic.make [] in
  let rec client () =
    let i = Atomic.fetch_and_add next 1 in
    if i < Array.length lines then begin
      (match String.split_on_char '\t' lines.(i) with
      | [ package; ocaml; _; digest ] when digest_of service package ocaml = digest -> ()
      | _ -> Atomic.set wrong (lines.(i) :: Atomic.get wrong));
      client ()
    end
  in
  List.iter Thread.join (List.init 4 (fun _ -> Thread.create client ()));
  Alcotest.(check int) "requests" 144 (Array.length lines);
  Alcotest.(check (list string)) "wrong answers" [] (Atomic.get wrong)

(* Each client comes again when it has its answer, and one of them is answered at a time: so there
   are always some that wait. *)
let ends_amid_new_clients () =
  if not (Sys.file_exists archive) then Alcotest.skip ();
  let service =
    start [ "--opam=" ^ archive; "--workers=0"; "--accept-domains=2"; "--grace=60" ]
  in
  answers service "/solve?pkg=dune" 200 "dune";
  let clients = Queue.create () and began = Unix.gettimeofday () in
  let come () =
    match asked service "/solve?pkg=dune" with
    | socket -> Queue.push socket clients
    | exception Unix.Unix_error ((ECONNREFUSED | ECONNRESET | EPIPE), _, _) -> ()
  in
  let rec serve () =
    match Queue.take_opt clients with
    | None -> ()
    | Some socket ->
      (try ignore (received socket : string) with Sys_error _ -> ());
      come ();
      serve ()
  in
  for _ = 1 to 20 do
    come ()
  done;
  Unix.kill service.pid Sys.sigterm;
  serve ();
  ended service;
  Alcotest.(check bool) "soon" true (Unix.gettimeofday () -. began < 20.)

let () =
  Sys.set_signal Sys.sigpipe Signal_ignore;
  Alcotest.run "solver_service"
    [
      ( "answers",
        [
          case "each path" routes;
          case "curl" by_curl;
          case "several requests on a connection" keeps_alive;
          case "on the event loop" (elsewhere [ "--workers=0" ]);
          case "a repository that is there later" unreadable_at_first;
          case "in turns on the event loop" one_loop;
          case "on Eio's pool" (elsewhere [ "--workers=1"; "--executor-pool" ]);
          case "several accept loops" several_loops;
          case "144 answers of the real repository" all_answers;
        ] );
      ( "limits",
        [
          case "a full queue" full;
          case "a deadline" out_of_time;
          case "a repository that comes slowly" slow_repository;
          case "clients that hang up" hangs_up;
          case "clients that send nonsense" bad_clients;
          case "clients that send little, or nothing" slow_clients;
          case "a client that does not read" never_reads;
          case "more clients than files" (more_than_files ~files:64 "1");
          case "more clients than files, as domains start" (more_than_files ~files:18 "2");
        ] );
      ( "life",
        [
          case "SIGTERM, answers within the grace" (ends Sys.sigterm ~grace:"60" 200);
          case "SIGINT, answers within the grace"
            (ends Sys.sigint ~arguments:[ "--accept-domains=2" ] ~grace:"60" 200);
          case "SIGTERM, the grace is over" (ends Sys.sigterm ~grace:"0.1" 503);
          case "SIGTERM, the grace is over on the event loop"
            (ends Sys.sigterm ~arguments:[ "--workers=0" ] ~grace:"0.1" 503);
          case "SIGTERM, the grace is over on Eio's pool"
            (ends Sys.sigterm ~arguments:[ "--executor-pool" ] ~grace:"0.1" 503);
          case "SIGTERM amid requests" ends_amid_requests;
          case "SIGTERM while clients come again" ends_amid_new_clients;
          case "SIGINT, then SIGTERM" ends_at_once;
          case "SIGTERM on Eio's pool" ends_on_eio's_pool;
          case "a log that nobody reads" unread_log;
          case "arguments" bad_arguments;
          case "SIGHUP while requests go on" reloads;
        ] );
    ]
