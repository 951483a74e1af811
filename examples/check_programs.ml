(* Runs the programs that have no sequential twin, as a user would run them. *)

open Running

let case name f = Alcotest.test_case name `Quick f
let check_string = Alcotest.(check string)

let rec wait_until ?(turns = 3_000) what condition =
  if turns = 0 then Alcotest.failf "%s: not within 30 s" what;
  if not (condition ()) then begin
    Unix.sleepf 0.01;
    wait_until ~turns:(turns - 1) what condition
  end

(* A program that runs, and the channel from which its output comes. *)
let start name arguments =
  let from, into = Unix.pipe ~cloexec:true () in
  let argv = Array.of_list (name :: arguments) in
  let pid = Unix.create_process (exe name) argv Unix.stdin into into in
  Unix.close into;
  (pid, Unix.in_channel_of_descr from)

(* Its exit code, and what it still says. *)
let finish (pid, output) =
  let said = In_channel.input_all output in
  close_in output;
  match Unix.waitpid [] pid with
  | _, WEXITED code -> (code, said)
  | _ -> Alcotest.failf "killed by a signal, having said\n%s" said

let signal (pid, _) signal = Unix.kill pid signal
let says text part = if not (contains text part) then Alcotest.failf "no %S in:\n%s" part text

let ends ~code ~saying program =
  let got, said = finish program in
  Alcotest.(check int) ("exit code with\n" ^ said) code got;
  List.iter (says said) saying

(* {2 The service} *)

let connect port =
  let socket = Unix.(socket ~cloexec:true PF_INET SOCK_STREAM 0) in
  Unix.connect socket (ADDR_INET (Unix.inet_addr_loopback, port));
  socket

let send socket line = ignore (Unix.write_substring socket (line ^ "\n") 0 (String.length line + 1))

let answer socket =
  let input = Unix.in_channel_of_descr socket in
  let said = In_channel.input_all input in
  close_in input;
  String.trim said

let asked port line =
  let socket = connect port in
  send socket line;
  socket

let ask port line = answer (asked port line)

let is_answered socket =
  let answered, _, _ = Unix.select [ socket ] [] [] 0. in
  answered <> []

(* The seconds that its code has run for, by steps of 10 ms. *)
let busy_seconds (pid, _) =
  let stat = In_channel.(with_open_bin (Printf.sprintf "/proc/%d/stat" pid) input_all) in
  let name_ends = String.rindex stat ')' in
  let fields = String.sub stat name_ends (String.length stat - name_ends) in
  float_of_string (List.nth (String.split_on_char ' ' fields) 12) /. 100.

let with_service arguments f =
  let service = start "service" ("--port=0" :: arguments) in
  let line = Option.value (In_channel.input_line (snd service)) ~default:"" in
  match Scanf.sscanf_opt line "listening on port %d" Fun.id with
  | Some port -> f service port
  | None -> Alcotest.failf "it says %S" line

let answers () =
  with_service [ "--max=4" ] @@ fun service port ->
  let sockets = List.init 20 (fun _ -> asked port "1000") in
  List.iter (fun socket -> check_string "primes" "168" (answer socket)) sockets;
  check_string "no number" "not a number" (ask port "many");
  signal service Sys.sigterm;
  ends ~code:0 ~saying:[ "21 requests answered" ] service

(* The request that it has is answered, and the client that waits beside it is not taken. *)
let ends_in_order on () =
  with_service [ "--max=1" ] @@ fun service port ->
  check_string "ready" "4" (ask port "10");
  let before = busy_seconds service in
  let socket = asked port "2000000" in
  wait_until "it works" (fun () -> is_answered socket || busy_seconds service > before +. 0.03);
  signal service on;
  check_string "the last one" "148933" (answer socket);
  ends ~code:0 ~saying:[ "2 requests answered" ] service;
  match ask port "10" with
  | said -> Alcotest.failf "it still says %S" said
  | exception Unix.Unix_error (ECONNREFUSED, _, _) -> ()

(* Work that takes longer than the grace is stopped, and its client is told, as one that waits. *)
let ends_within_grace on () =
  with_service [ "--max=1"; "--limit=100"; "--grace=1" ] @@ fun service port ->
  let sockets = List.init 3 (fun _ -> asked port "2000000000") in
  signal service on;
  List.iter (fun socket -> check_string "told" "stopped" (answer socket)) sockets;
  ends ~code:0 ~saying:[ "3 requests answered" ] service

(* Though jobs keep all workers busy, and it has not taken the clients yet: all are answered. *)
let ends_when_busy on () =
  with_service [ "--limit=1000"; "--grace=0.5" ] @@ fun service port ->
  let sockets = List.init 30 (fun _ -> asked port "2000000000") in
  signal service on;
  List.iter (fun socket -> check_string "told" "stopped" (answer socket)) sockets;
  ends ~code:0 ~saying:[ "30 requests answered" ] service

let ends_idle () =
  with_service [] @@ fun service _ ->
  signal service Sys.sigint;
  ends ~code:0 ~saying:[ "0 requests answered" ] service

(* Nor does a client that says nothing hold a place for ever. *)
let limits_time () =
  with_service [ "--max=1"; "--limit=0.3" ] @@ fun service port ->
  let answered = ref 0 in
  let ask line =
    let said = ask port line in
    if said <> "" then incr answered;
    said
  in
  (* If the machine stops the service for so long, it gives up any request. *)
  let answers what = wait_until what (fun () -> ask "10" = "4") in
  let silent = connect port in
  answers "beside a silent one";
  check_string "too long" "out of time" (ask "2000000000");
  answers "afterwards";
  Unix.close silent;
  signal service Sys.sigterm;
  ends ~code:0 ~saying:[ Printf.sprintf "%d requests answered" !answered ] service

let port_is_taken () =
  with_service [] @@ fun service port ->
  expect ~code:Cmdliner.Cmd.Exit.some_error ~saying:"Address already in use" (exe "service")
    [ Printf.sprintf "--port=%d" port ];
  signal service Sys.sigterm;
  ends ~code:0 ~saying:[] service

let service =
  [
    case "answers more clients than it serves at a time" answers;
    case "SIGTERM ends it after the request that it has" (ends_in_order Sys.sigterm);
    case "Ctrl-C does, too" (ends_in_order Sys.sigint);
    case "SIGTERM ends it within the grace" (ends_within_grace Sys.sigterm);
    case "SIGTERM ends it while all workers are busy" (ends_when_busy Sys.sigterm);
    case "Ctrl-C does so, too" (ends_within_grace Sys.sigint);
    case "Ctrl-C ends it when it is idle" ends_idle;
    case "silent clients and long requests are given up" limits_time;
    case "a port that is taken is told of" port_is_taken;
  ]

(* {2 The runner} *)

let failed = Cmdliner.Cmd.Exit.some_error

let runs_commands () =
  expect ~code:0 ~saying:"exit 0: ended" (exe "runner") [ "exit 0"; "true"; "--max=1" ];
  expect ~code:failed ~saying:"exit 3: failed, 3" (exe "runner") [ "exit 3"; "true" ]

let kills_late_ones () =
  expect ~code:failed ~saying:"exec sleep 1000: killed: its time is up" (exe "runner")
    [ "--limit=0.2"; "true"; "exec sleep 1000" ]

let is_gone pid =
  match Unix.kill pid 0 with () -> false | exception Unix.Unix_error (ESRCH, _, _) -> true

(* Each command writes its process's number. *)
let stopped_by it () =
  let directory = Filename.temp_dir "muster_runner" "" in
  let file i = Filename.concat directory (string_of_int i) in
  let command i = Printf.sprintf "echo $$ > %s; exec sleep 1000" (Filename.quote (file i)) in
  let runner = start "runner" ("--max=3" :: List.init 5 command) in
  let pid i =
    if Sys.file_exists (file i) then
      int_of_string_opt (String.trim (In_channel.with_open_bin (file i) In_channel.input_all))
    else None
  in
  let begun () = List.filter_map pid (List.init 5 Fun.id) in
  wait_until "three run" (fun () -> List.length (begun ()) = 3);
  signal runner it;
  ends ~code:130 ~saying:[ "interrupted: 3 killed" ] runner;
  Alcotest.(check int) "no other began" 3 (List.length (begun ()));
  Alcotest.(check bool) "all gone" true (List.for_all is_gone (begun ()));
  List.iter (fun i -> if Sys.file_exists (file i) then Sys.remove (file i)) (List.init 5 Fun.id);
  Sys.rmdir directory

let runner =
  [
    case "commands end or fail" runs_commands;
    case "a late command is killed" kills_late_ones;
    case "Ctrl-C kills those that run" (stopped_by Sys.sigint);
    case "so does SIGTERM" (stopped_by Sys.sigterm);
  ]

(* {2 The option} *)

(* In a process of its own: the default pool's workers after the option. *)
let print_workers option =
  let command = Cmdliner.(Cmd.v (Cmd.info "workers") Muster_examples.Jobs.jobs) in
  match Cmdliner.Cmd.eval_value ~argv:[| "workers"; option |] command with
  | Ok (`Ok ()) -> Printf.printf "%d workers\n" Muster.Pool.(size (default ()))
  | _ -> exit Cmdliner.Cmd.Exit.cli_error

let sets_workers () =
  let check option workers =
    expect ~code:0 ~saying:(Printf.sprintf "%d workers" workers) Sys.executable_name
      [ "workers"; option ]
  in
  check "-j1" 1;
  check "--jobs=1" 1;
  check "-j1000" (Muster.Cpu.available ())

let refuses_no_number () =
  let refuse option =
    expect ~code:Cmdliner.Cmd.Exit.cli_error ~saying:"is not a number of CPUs, from 1" (exe "jobs")
      [ option; Sys.executable_name ]
  in
  List.iter refuse [ "-j0"; "-jx"; "--jobs=-1"; "--jobs=1.5"; "-j" ^ string_of_int max_int ^ "0" ]

let digests () =
  let files = [ exe "jobs"; exe "run" ] in
  let line file = Printf.sprintf "%s  %s\n" (Digest.to_hex (Digest.file file)) file in
  let lines = String.concat "" (List.map line files) in
  List.iter
    (fun options -> expect ~code:0 ~saying:lines (exe "jobs") (options @ files))
    [ []; [ "-j1" ]; [ "-j"; "2" ] ];
  expect ~code:failed ~saying:"No such file" (exe "jobs") ("no such file" :: files);
  expect ~code:failed ~saying:"jobs: /: Is a directory" (exe "jobs") [ "/" ];
  expect ~code:failed ~saying:lines (exe "jobs") ("no such file" :: files)

let jobs =
  [
    case "it sets the default pool's workers" sets_workers;
    case "what is no number of CPUs is refused" refuses_no_number;
    case "the digests are right, and in order" digests;
  ]
