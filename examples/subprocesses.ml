(* Runs subprocesses: a given number at a time, each with a time limit. However the run ends, no
   process stays behind. A wait for a process takes a thread of its own, not a worker, so one domain
   can run many processes. *)

module Task = Muster.Task

type outcome = Ended of int | Out_of_time

(* Whatever ends the wait, the process ends too: its time is up, another one's runner has failed,
   or Ctrl-C was pressed. The wait that was given up may take the process's status first. *)
let kills = Atomic.make 0
let killed () = Atomic.get kills

let kill pid =
  try
    Unix.kill pid Sys.sigkill;
    Atomic.incr kills;
    ignore (Task.blocking (fun () -> Unix.waitpid [] pid))
  with Unix.Unix_error ((ECHILD | ESRCH), _, _) -> ()

let run ~seconds command =
  let pid = Unix.(create_process "sh" [| "sh"; "-c"; command |] stdin stdout stderr) in
  let wait () = snd (Task.blocking (fun () -> Unix.waitpid [] pid)) in
  match Task.with_deadline seconds wait with
  | WEXITED code -> Ended code
  | WSIGNALED signal | WSTOPPED signal -> Ended signal
  | exception Task.Deadline_exceeded ->
    kill pid;
    Out_of_time
  | exception exn ->
    kill pid;
    raise exn

let run_all ~limit ~seconds = Task.map ~max:limit (run ~seconds)

(* {2 What they run} *)

let one_after_the_other ~seconds commands = List.map (run ~seconds) commands
let short i = Printf.sprintf "sleep 0.02; exit %d" (i mod 3)
let some_endless i = if i mod 32 = 0 then "exec sleep 1000" else short i
let endless _ = "exec sleep 1000"

(* How it ends when Ctrl-C is pressed after a moment, and whether processes are left. *)
let interrupted run =
  Sys.catch_break true;
  let press = Printf.sprintf "sleep 0.1; kill -INT %d" (Unix.getpid ()) in
  let presser = Unix.(create_process "sh" [| "sh"; "-c"; press |] stdin stdout stderr) in
  let how = match run () with _ -> "ended" | exception Sys.Break -> "interrupted" in
  ignore (Unix.waitpid [] presser);
  Sys.set_signal Sys.sigint Signal_default;
  match Unix.(waitpid [ WNOHANG ] (-1)) with
  | _ -> how ^ ", processes left"
  | exception Unix.Unix_error (ECHILD, _, _) -> how ^ ", no process left"

(* {2 Rows} *)

let show outcomes =
  let count outcome = List.length (List.filter (( = ) outcome) outcomes) in
  Printf.sprintf "%d succeed, %d out of time" (count (Ended 0)) (count Out_of_time)

let row label ~shows ~limit ~seconds commands =
  Example.row label ~shows ~show
    ~sequential:(fun () -> one_after_the_other ~seconds commands)
    ~parallel:(fun _ -> run_all ~limit ~seconds commands)

let rows limit n =
  [
    row "at most so many" ~limit ~seconds:60. (List.init n short)
      ~shows:
        "Processes run at the same time, on one domain, too. Expect the limit, less the time that \
         processes take to start.";
    row "a limit of time" ~limit ~seconds:1. (List.init n some_endless)
      ~shows:"Every 32nd process would never end: it is killed when its time is up.";
    Example.row "Ctrl-C" ~show:Fun.id
      ~shows:"Ctrl-C after 0.1 s kills all processes that run. No gain in time is expected."
      ~sequential:(fun () ->
        interrupted (fun () -> one_after_the_other ~seconds:60. (List.init n endless)))
      ~parallel:(fun _ ->
        interrupted (fun () -> run_all ~limit ~seconds:60. (List.init n endless)));
  ]

let example =
  let size = Example.size ~max:10_000 ~default:64 "Run $(docv) processes in each row." in
  let limit = Example.option ~default:8 "limit" "Run at most $(docv) processes at a time." in
  Example.command ~name:"subprocesses"
    ~doc:"a runner of subprocesses, with limits of their number and time, and Ctrl-C" ~size
    Cmdliner.Term.(const rows $ limit)
