type t = { run : string; mutable times : (string * float) list }

let create run = { run; times = [] }
let times t = List.rev t.times

(* One that says so (an editor's) has no line that can be cleared. *)
let is_dumb () = Sys.getenv_opt "TERM" = Some "dumb"
let on_terminal = lazy (Unix.isatty Unix.stderr && not (is_dumb ()))
let clear_line = "\r\027[K"
let show t name percent = Printf.eprintf "%s%s: %s %d %%%!" clear_line t.run name percent

(* The domain whose step reaches a new percentage shows it: a hundred lines at most,
   however many steps there are. *)
let counter t name ~steps =
  let finished = Atomic.make 0 in
  let percent n = min 100 (n * 100 / max 1 steps) in
  fun n ->
    let before = Atomic.fetch_and_add finished n in
    if percent before < percent (before + n) then show t name (percent (before + n))

let phase t name ~steps f =
  let shown = Lazy.force on_terminal in
  let advance = if shown then counter t name ~steps else ignore in
  let start = Unix.gettimeofday () in
  let clear () = if shown then Printf.eprintf "%s%!" clear_line in
  let result = Fun.protect ~finally:clear (fun () -> f advance) in
  t.times <- (name, Unix.gettimeofday () -. start) :: t.times;
  result
