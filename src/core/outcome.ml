type failure = { exn : exn; backtrace : Printexc.raw_backtrace }

(* The backtrace first: anything else may overwrite it. *)
let[@inline] caught exn =
  let backtrace = Printexc.get_raw_backtrace () in
  { exn; backtrace }

let raise f = Printexc.raise_with_backtrace f.exn f.backtrace
