type failure = { exn : exn; backtrace : Printexc.raw_backtrace }

(* The backtrace first: anything else may overwrite it. *)
let[@inline] capture exn =
  let backtrace = Printexc.get_raw_backtrace () in
  { exn; backtrace }

(* Where something is allocated an asynchronous exception (Ctrl-C) may strike: it takes the first
   one's place, so that whoever cleans up after this does so. The fourth in a row is let through. No
   loop: it would begin with a look for signals, before its handler is there. *)
let[@inline never] caught exn =
  try capture exn
  with exn -> ( try capture exn with exn -> ( try capture exn with exn -> capture exn))

let raise f = Printexc.raise_with_backtrace f.exn f.backtrace

let on_failure f look =
  try f ()
  with exn ->
    let failure = caught exn in
    look failure;
    raise failure

let firmly f x y =
  match f x y with
  | () -> ()
  | exception exn ->
    let failure = caught exn in
    f x y;
    raise failure

let finally last x f =
  match f () with
  | v ->
    last x;
    v
  | exception exn ->
    let failure = caught exn in
    last x;
    raise failure
