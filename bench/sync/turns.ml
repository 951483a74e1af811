(* Turns at a lock that all want: some 40 ns outside, and an operation of a [Hashtbl] inside, done by
   a loop, by a task for each worker, or by a recursion of [both]. *)

type lock = { read : (unit -> unit) -> unit; write : (unit -> unit) -> unit; writes_every : int }

let plain protect = { read = protect; write = protect; writes_every = 256 }

let stdlib_mutex () =
  let m = Stdlib.Mutex.create () in
  plain (Stdlib.Mutex.protect m)

let mutex () =
  let m = Muster.Mutex.create () in
  plain (Muster.Mutex.protect m)

let stdlib_semaphore () =
  let module Semaphore = Stdlib.Semaphore.Counting in
  let s = Semaphore.make 1 in
  plain (fun f ->
      Semaphore.acquire s;
      Fun.protect f ~finally:(fun () -> Semaphore.release s))

let semaphore () =
  let s = Muster.Semaphore.make 1 in
  plain (Muster.Semaphore.with_permit s)

let rwlock ~writes_every () =
  let l = Muster.Rwlock.create () in
  { read = Muster.Rwlock.protect_read l; write = Muster.Rwlock.protect_write l; writes_every }

(* {2 Shapes} *)

let rec halves lo hi f =
  if hi - lo <= 1 then f lo
  else
    let mid = (lo + hi) / 2 in
    ignore (Muster.both (fun () -> halves lo mid f) (fun () -> halves mid hi f))

let by_tasks ~domains n f =
  let share k () =
    for i = 0 to (n / domains) - 1 do
      f (k + (domains * i))
    done
  in
  ignore (Muster.Task.all (List.init domains share))

let shapes ~domains =
  [
    ("loop", fun n f -> Muster.parallel_for ~start:0 ~finish:(n - 1) f);
    ("tasks", by_tasks ~domains);
    ("both", fun n f -> halves 0 n f);
  ]

(* {2 Rows} *)

let keys = 1024

let turn lock table i =
  for _ = 1 to 20 do
    ignore (Sys.opaque_identity (ref 0))
  done;
  let key = i land (keys - 1) in
  if i mod lock.writes_every = 0 then lock.write (fun () -> Hashtbl.replace table key i)
  else lock.read (fun () -> ignore (Sys.opaque_identity (Hashtbl.find_opt table key)))

let time ~turns run make =
  let table = Hashtbl.create keys and lock = make () in
  for key = 0 to keys - 1 do
    Hashtbl.replace table key key
  done;
  Clock.time (fun () -> run turns (turn lock table)) /. float turns

(** The most that ours may take, in times of the stdlib's. *)
let limit = 3.

(* A name, the contender, and what it is measured by. *)
let pairs =
  [
    ("Mutex", mutex, stdlib_mutex);
    ("Semaphore of 1", semaphore, stdlib_semaphore);
    ("Rwlock, 1 write in 256", rwlock ~writes_every:256, stdlib_mutex);
    ("the same beside Muster.Mutex", rwlock ~writes_every:256, mutex);
    ("Rwlock, all writes", rwlock ~writes_every:1, stdlib_mutex);
  ]

let header = [ ""; "shape"; "Muster"; "beside it"; "ratio"; "" ]

let row ~repeat ~turns (shape, run) (name, ours, other) =
  match Measure.in_turn ~repeat (fun ~round:_ -> time ~turns run) [ ours; other ] with
  | [ (_, o); (_, s) ] ->
    let ratio = Measure.median_ratio o s and show it = Clock.show (Measure.median it) in
    let verdict = if ratio <= limit then "pass" else "FAIL" in
    [ name; shape; show o; show s; Printf.sprintf "%.2f" ratio; verdict ]
  | _ -> assert false

let rows ~repeat ~turns ~domains =
  Muster.Pool.with_ ~domains ~oversubscribe:true @@ fun _ ->
  List.concat_map
    (fun pair -> List.map (fun shape -> row ~repeat ~turns shape pair) (shapes ~domains))
    pairs
