(* Jobs of a service, in turn in one run: Muster's workers beside Eio's pool of executors. *)

open Cmdliner

let bench repeat quick =
  print_endline (Table.to_text (Empty.table ~repeat ~quick));
  0

let repeat =
  let doc = "Take $(docv) rounds." in
  Arg.(value & opt Options.positive 5 & info [ "repeat" ] ~docv:"R" ~doc)

let quick = Arg.(value & flag & info [ "quick" ] ~doc:"So few jobs that all takes a second.")

let () =
  let doc = "Muster's workers beside Eio's pool of executors" in
  exit (Cmd.eval' (Cmd.v (Cmd.info "bench-service" ~doc) Term.(const bench $ repeat $ quick)))
