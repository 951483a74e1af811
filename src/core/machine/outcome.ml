(* {2 Asynchronous exceptions: one rule}

   Every operation of Muster's survives an asynchronous exception (Ctrl-C, or that of a signal's
   handler or a finaliser): it cleans up, or finishes the step that was cut short, and the exception
   goes on. A second one may strike while the operation deals with the first. It passes, and may
   leave something undone. Where C code or raw memory is in flight (Region's [to_the_end]), the
   operation still waits to the end.

   It strikes where code allocates or polls: at a turn of a loop; at the start of a function that
   ends in a call of an unknown one, or of itself; in [Atomic.incr], which allocates in OCaml 5.4.
   Code without any of these is called unbroken. Steps that belong together have none in between,
   nor have a step and the handler that undoes it. (Bytecode takes signals at each call.) *)

type failure = { exn : exn; backtrace : Printexc.raw_backtrace }

(* The backtrace first: anything else may overwrite it. *)
let[@inline] capture exn =
  let backtrace = Printexc.get_raw_backtrace () in
  { exn; backtrace }

let[@inline never] caught exn = try capture exn with exn -> capture exn

let index_of failure index = if failure.exn == Sys.Break then min_int else index
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

let finally last x f y =
  match f y with
  | v ->
    last x;
    v
  | exception exn ->
    let failure = caught exn in
    last x;
    raise failure
