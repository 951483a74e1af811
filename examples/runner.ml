(* Runs shell commands, a given number at a time, each with a time limit. Ctrl-C and SIGTERM kill
   the commands that run, and the program prints how many these were. *)

open Cmdliner
module Task = Muster.Task

(* What a command came to; the exit status counts those that failed. *)
let said command outcome =
  let is_fine, text =
    match (outcome : Subprocesses.outcome) with
    | Ended 0 -> (true, "ended")
    | Ended status -> (false, Printf.sprintf "failed, %d" status)
    | Out_of_time -> (false, "killed: its time is up")
  in
  Printf.printf "%s: %s\n%!" command text;
  is_fine

let run_one ~seconds command = said command (Subprocesses.run ~seconds command)

(* A signal cancels the scope: each call kills its process before it ends. [Sys.catch_break] would not
   do: its exception may strike between the start of a process and the note of its number. *)
let main limit seconds commands =
  let run scope =
    let stop = Sys.Signal_handle (fun _ -> Task.cancel_scope scope) in
    List.iter (fun signal -> Sys.set_signal signal stop) [ Sys.sigint; Sys.sigterm ];
    Task.map ~max:limit (run_one ~seconds) commands
  in
  match Task.scope run with
  | results -> if List.for_all Fun.id results then Cmd.Exit.ok else Cmd.Exit.some_error
  | exception Task.Cancelled ->
    Printf.printf "interrupted: %d killed\n%!" (Subprocesses.killed ());
    130

let example =
  let doc = "shell commands, several at a time, with a limit of time for each" in
  let limit = Example.option ~default:4 "max" "Run at most $(docv) at a time." in
  let seconds =
    let doc = "Kill a command that runs longer than $(docv)." in
    Arg.(value & opt float 60. & info [ "limit" ] ~docv:"SECONDS" ~doc)
  in
  let commands = Arg.(non_empty & pos_all string [] & info [] ~docv:"COMMAND") in
  ("runner", doc, Cmd.v (Cmd.info "runner" ~doc) Term.(const main $ limit $ seconds $ commands))
