(* The service of examples/solver_service under load: solves by 0, 1 and 2 workers, and on Eio's
   Executor_pool, with /ping beside them. Each round starts the service anew for each row: [curl]
   asks it for everything once (cold: the repository is read meanwhile), then [wrk] for some seconds
   (warm). *)

open Cmdliner

type row = { name : string; arguments : string list }

let rows =
  [
    { name = "0: on the event loop"; arguments = [ "--workers=0" ] };
    { name = "1 worker"; arguments = [ "--workers=1" ] };
    { name = "2 workers"; arguments = [ "--workers=2" ] };
    { name = "Executor_pool, 1 domain"; arguments = [ "--workers=1"; "--executor-pool" ] };
    { name = "Executor_pool, 2 domains"; arguments = [ "--workers=2"; "--executor-pool" ] };
  ]

(* {2 What is asked for} *)

let of_opam =
  "lwt irmin irmin-git dune dream coq mirage ocaml-lsp-server cohttp-lwt-unix frama-c core_kernel \
   async js_of_ocaml why3"

let of_debian = "gcc vim-gtk3 libeio-ocaml-dev git chromium nginx-full python3-scipy cmake"

let paths ~opam =
  let words = String.split_on_char ' ' in
  let path ocaml package = Printf.sprintf "/solve?pkg=%s%s" package ocaml in
  let all ocaml packages = List.map (path ocaml) (words packages) in
  if opam = None then all "" of_debian
  else all "&ocaml=5.1.1" of_opam @ all "&ocaml=4.14.2" of_opam

(* {2 The service and its clients} *)

let start ~opam row =
  let here = Filename.dirname Sys.executable_name in
  let program = Filename.concat here "../../examples/solver_service/main.exe" in
  let source = Option.fold opam ~none:[] ~some:(fun path -> [ "--opam=" ^ path ]) in
  let from, into = Unix.pipe ~cloexec:true () in
  let argv = Array.of_list ((program :: "--port=0" :: source) @ row.arguments) in
  let pid = Unix.create_process program argv Unix.stdin into Unix.stderr in
  Unix.close into;
  let output = Unix.in_channel_of_descr from in
  (pid, Scanf.sscanf (input_line output) "listening on port %d" Fun.id)

let write file text = Out_channel.with_open_bin file (fun to_ -> output_string to_ text)

let curl ~port ~folder paths =
  let file = Filename.concat folder "urls" in
  let line path = Printf.sprintf "url=http://localhost:%d%s\noutput=/dev/null\n" port path in
  write file (String.concat "" (List.map line paths));
  [
    "curl"; "-sSf"; "--no-progress-meter"; "--parallel"; "--parallel-immediate";
    "--parallel-max"; "4"; "-K"; file;
  ]

let wrk ~port ~folder ~seconds paths =
  let file = Filename.concat folder "paths.lua" in
  let path = Printf.sprintf "%S" in
  write file
    (Printf.sprintf
       "local paths, i = { %s }, 0\n\
        request = function() i = i + 1; return wrk.format('GET', paths[i %% #paths + 1]) end\n"
       (String.concat ", " (List.map path paths)));
  let url = Printf.sprintf "http://localhost:%d" port in
  [ "wrk"; "-t1"; "-c4"; "-d"; string_of_int seconds ^ "s"; "--timeout"; "60s"; "-s"; file; url ]

let ping_text = "GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n"

(* How long each answer to a ping takes, one each 5 ms, while the process runs. *)
let pings ~port pid =
  let socket = Unix.(socket ~cloexec:true PF_INET SOCK_STREAM 0) in
  Unix.connect socket (ADDR_INET (Unix.inet_addr_loopback, port));
  Unix.setsockopt socket TCP_NODELAY true;
  let answer = Bytes.create 4_096 in
  let ping () =
    ignore (Unix.write_substring socket ping_text 0 (String.length ping_text) : int);
    if Unix.read socket answer 0 4_096 = 0 then failwith "the service hung up"
  in
  let rec go times =
    match Unix.waitpid [ WNOHANG ] pid with
    | 0, _ ->
      let time = Clock.time ping in
      Unix.sleepf 0.005;
      go (time :: times)
    | _, WEXITED 0 -> times
    | _ -> failwith "a client failed"
  in
  Fun.protect (fun () -> go []) ~finally:(fun () -> Unix.close socket)

let beside_pings ~port ~folder command =
  let file = Filename.concat folder "said" in
  let said = Unix.openfile file [ O_CREAT; O_TRUNC; O_WRONLY; O_CLOEXEC ] 0o600 in
  let argv = Array.of_list command in
  let pid = Unix.create_process argv.(0) argv Unix.stdin said Unix.stderr in
  Unix.close said;
  let times = pings ~port pid in
  (times, In_channel.with_open_bin file In_channel.input_all)

(* {2 A round} *)

type figures = { cold : float; warm : float; pings : float list }

let requests_per_second said =
  let finds pattern =
    match Str.search_forward (Str.regexp pattern) said 0 with
    | _ -> true
    | exception Not_found -> false
  in
  if finds "Non-2xx\\|Socket errors" || not (finds "Requests/sec: +\\([0-9.]+\\)") then
    failwith ("wrk says:\n" ^ said);
  float_of_string (Str.matched_group 1 said)

let measure ~opam ~seconds ~folder row =
  let paths = paths ~opam in
  let pid, port = start ~opam row in
  let began = Clock.now () in
  ignore (beside_pings ~port ~folder (curl ~port ~folder paths) : float list * string);
  let cold = float (List.length paths) /. ((Clock.now () -. began) *. 1e-9) in
  let pings, said = beside_pings ~port ~folder (wrk ~port ~folder ~seconds paths) in
  Unix.kill pid Sys.sigterm;
  match Unix.waitpid [] pid with
  | _, WEXITED 0 -> { cold; warm = requests_per_second said; pings }
  | _ -> failwith "the service does not end in order"

(* {2 The table} *)

let quantile q times =
  let sorted = Array.of_list (List.sort Float.compare times) in
  sorted.(int_of_float (q *. float (Array.length sorted - 1)))

let line (row, rounds) =
  let median f = Measure.median (Measure.of_runs (List.map f rounds)) in
  let pings = List.concat_map (fun it -> it.pings) rounds in
  let show = Printf.sprintf "%.1f" in
  [
    row.name;
    show (median (fun it -> it.cold));
    show (median (fun it -> it.warm));
    Clock.show (quantile 0.5 pings);
    Clock.show (quantile 0.99 pings);
  ]

let of_row rounds name = snd (List.find (fun (row, _) -> row.name = name) rounds)

let ratio rounds f a b =
  let sample name = Measure.of_runs (List.map f (of_row rounds name)) in
  Measure.median_ratio (sample a) (sample b)

let verdicts rounds =
  let say what value limit =
    let word = if value >= limit then "pass" else "FAIL" in
    Printf.printf "%-40s %5.2f, to be %.2f: %s\n" what value limit word;
    value >= limit
  in
  let warm it = it.warm and cold it = it.cold in
  let one = "1 worker" and two = "2 workers" and theirs = "Executor_pool, 2 domains" in
  let pings = List.concat_map (fun it -> it.pings) (of_row rounds two) in
  let all =
    [
      say "warm: 2 workers beside 1" (ratio rounds warm two one) 1.7;
      say "warm: 2 workers beside Executor_pool" (ratio rounds warm two theirs) 1.15;
      say "cold: 2 workers beside 1" (ratio rounds cold two one) 1.;
      say "10 ms beside the p99 of /ping" (10e6 /. quantile 0.99 pings) 1.;
    ]
  in
  List.for_all Fun.id all

(* As many rounds, every second one from the last row to the first. *)
let measure_all ~repeat measure =
  let round n =
    let rows = if n mod 2 = 0 then rows else List.rev rows in
    List.map (fun row -> (row.name, measure row)) rows
  in
  let measured = List.concat (List.init repeat round) in
  let of_row row = List.filter (fun (name, _) -> name = row.name) measured |> List.map snd in
  List.map (fun row -> (row, of_row row)) rows

let usual = "../shared/data/opam-repository-full.tar.xz"

let bench opam seconds repeat =
  let opam = if opam = None && Sys.file_exists usual then Some usual else opam in
  let folder = Filename.temp_dir "muster_bench" "" in
  let rounds = measure_all ~repeat (measure ~opam ~seconds ~folder) in
  ignore (Sys.command (Filename.quote_command "rm" [ "-r"; folder ]) : int);
  let header = [ "solves a second"; "cold"; "warm"; "/ping p50"; "p99" ] in
  let rows = List.map line rounds in
  print_endline (Table.to_text { title = "the solver service"; header; rows });
  if verdicts rounds then Cmd.Exit.ok else 1

let option name default doc =
  Arg.(value & opt Options.positive default & info [ name ] ~docv:"N" ~doc)

let () =
  let source = "An opam repository, a tree or an archive; else Debian's packages." in
  let term =
    Term.(
      const bench $ Options.file "opam" source
      $ option "seconds" 3 "Load each warm service for $(docv) s."
      $ option "repeat" 3 "$(docv) rounds.")
  in
  exit (Cmd.eval' (Cmd.v (Cmd.info "solver" ~doc:"the solver service under load") term))
