type failure = { exn : exn; backtrace : Printexc.raw_backtrace }

(* The backtrace first: anything else may overwrite it. Where something is allocated an asynchronous
   exception (Ctrl-C) may strike: it takes the first one's place, so that whoever cleans up after
   this does so. *)
let rec caught exn =
  match
    let backtrace = Printexc.get_raw_backtrace () in
    { exn; backtrace }
  with
  | failure -> failure
  | exception exn -> caught exn

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
