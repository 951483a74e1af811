(* A worker keeps the number of whoever runs on it ([own.strand]): a task's begins as 0, moves
   with the task when that is suspended, and comes back when what ran on top of it has ended
   (Context.restore, Task.run_claimed). It is drawn when somebody first asks: few tasks lock.

   Numbers of tasks are below 0, drawn by the workers in bundles. A thread's number is above 0: outside
   all pools, and where it entered one. None is drawn twice: what a strand left locked is nobody else's. *)

open Place

let bundle = 4096
let bundles = Atomic.make 0

let[@inline never] draw w =
  if w.own.numbers land (bundle - 1) = 0 then
    w.own.numbers <- (Atomic.fetch_and_add bundles 1 * bundle) + 1;
  let number = -w.own.numbers in
  w.own.numbers <- w.own.numbers + 1;
  w.own.strand <- number;
  number

let[@inline] at w = if w.own.strand <> 0 then w.own.strand else draw w

let elsewhere () =
  match owned_place () with
  | Some w -> at w
  | None -> Machine.thread_id ()

(* Mostly a thread is where storage shows it, or nowhere. *)
let current () =
  let w = Place.current () in
  if owned w then at w
  else if w == nobody && all_shown () then Machine.thread_id ()
  else elsewhere ()

(* Where storage shows the thread's place, neither allocates: a signal's handler that raises may strike there. *)

let be number =
  let w = Context.place () in
  if owned w then w.own.strand <- number

let another () =
  let number = (Context.place ()).own.strand in
  be 0;
  number

(* Whoever is told of a cancellation is not part of what was cancelled afterwards (Context), so
   what it is part of is noted before. *)
let watch () =
  let me = Context.get () in
  fun exn -> exn == Promise.Cancelled && Promise.is_stopped me

let turns = 100
let spins () = looks ~most:turns
