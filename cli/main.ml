open Cmdliner
open Muster_cli

let man =
  [
    `S Manpage.s_description;
    `P
      "$(mname) runs the examples of Muster, a multicore toolkit for OCaml 5, and says what its \
       pool will do on this machine.";
    `S Manpage.s_examples;
    `Pre "  $(mname) run fib --size 38\n  $(mname) run closure\n  $(mname) doctor --json";
  ]

let muster =
  let doc = "run Muster's examples, and see what its pool will do here" in
  let default = Term.(ret (const (`Help (`Plain, None)))) in
  Cmd.group
    (Cmd.info "muster" ~version:Facts.muster_version ~doc ~man)
    ~default [ Run.command; Doctor.command ]

let status () =
  let status = Cmd.eval' ~catch:false muster in
  Format.print_flush ();
  flush stdout;
  status

(* Files that cannot be read have been told of already. Output that cannot be written is no error of ours, as
   Cmdliner would have it; what is left of it would fail again as the program ends. *)
let failed exn =
  let trace = Printexc.get_backtrace () in
  match exn with
  | Sys_error reason ->
    close_out_noerr stdout;
    Printf.eprintf "muster: cannot write: %s\n" reason;
    Cmd.Exit.some_error
  | _ ->
    Printf.eprintf "muster: internal error: %s\n%s" (Printexc.to_string exn) trace;
    Cmd.Exit.internal_error

let () = exit (try status () with exn -> failed exn)
