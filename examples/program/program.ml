open Cmdliner

let status arguments command =
  let status = Cmd.eval' ~argv:arguments ~catch:false command in
  Format.print_flush ();
  flush stdout;
  status

(* Files that cannot be read have been told of already. Output that cannot be written is no error of ours, as
   Cmdliner would have it; what is left of it would fail again as the program ends. *)
let failed name exn =
  let trace = Printexc.get_backtrace () in
  match exn with
  | Sys_error reason ->
    close_out_noerr stdout;
    Printf.eprintf "%s: cannot write: %s\n" name reason;
    Cmd.Exit.some_error
  | _ ->
    Printf.eprintf "%s: internal error: %s\n%s" name (Printexc.to_string exn) trace;
    Cmd.Exit.internal_error

let main ?(arguments = Sys.argv) command =
  exit (try status arguments command with exn -> failed (Cmd.name command) exn)
