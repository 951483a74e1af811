type failure = { exn : exn; backtrace : Printexc.raw_backtrace }

(* The backtrace first: anything else may overwrite it. *)
let[@inline] caught exn =
  let backtrace = Printexc.get_raw_backtrace () in
  { exn; backtrace }

let raise f = Printexc.raise_with_backtrace f.exn f.backtrace

let on_failure f look =
  try f ()
  with exn ->
    let failure = caught exn in
    look failure;
    raise failure

let finally last x f =
  match f () with
  | v -> last x; v
  | exception exn ->
    let failure = caught exn in
    last x;
    raise failure
