(* A stub, which OCaml called, calls a loop of muster.h. That (kernel_stubs.c) calls the OCaml
   function which is registered for the loop here, and workers call the C function for slices or
   chunks of the indices.

   The loop and the memory that its context points to lie on the stub's stack. So no exception, not
   even a second Ctrl-C, may end the call while a slice runs or may still begin: that is
   [to_the_end], which Region promises.

   {b The domain lock.} A C body never polls, so while it runs with the lock held, every minor
   collection of the program waits for it. Releasing and taking the lock costs 0.1 us; the runtime's
   backup thread takes part in collections meanwhile. So a slice that lasts [Tuning.long_body] or
   more runs without it, and so does one of unknown cost. The cost of an index is remembered by
   function (Site), as for OCaml bodies; the caller measures its own slice.

   {b Workers.} A stub may have made an array with a slot for each of [muster_workers ()], and a
   pool grows if the process may use more CPUs. So the number that C was told of a pool is kept for
   as long as the pool is open, and no loop uses more. *)

(* {2 Workers} *)

let told : (Place.pool * int) list Atomic.t = Atomic.make []

let rec told_of pool = function
  | [] -> max_int
  | (p, workers) :: rest -> if p == pool then workers else told_of pool rest

(* How many may take part. *)
let most pool = Int.min (Pool.size pool) (told_of pool (Atomic.get told))

(* Of two threads that ask first, the later one gets the answer of the earlier. *)
let rec workers () =
  let pool = Pool.current () in
  let before = Atomic.get told in
  let known = told_of pool before in
  if known < max_int then known
  else
    let is_open (p, _) = List.memq p (Atomic.get Place.open_pools) in
    let after = (pool, Pool.size pool) :: List.filter is_open before in
    ignore (Atomic.compare_and_set told before after);
    workers ()

(* {2 Bodies} *)

(* An address on the stub's stack. *)
type loop

(* Calls the C function for [count] indices from [start] on; [workers] is for loops within it. *)
external run : loop -> workers:int -> worker:int -> start:int -> count:int -> unit
  = "muster_kernel_run"
[@@noalloc]

(* The same without the domain lock. *)
external run_unlocked : loop -> workers:int -> worker:int -> start:int -> count:int -> unit
  = "muster_kernel_run_unlocked"

let run_slice loop ~long ~n ~workers worker =
  let start, count = Slices.slice n workers worker in
  if long then run_unlocked loop ~workers ~worker ~start ~count
  else run loop ~workers ~worker ~start ~count

(* A default pool that some thread closes meanwhile is replaced, as for OCaml's loops: the call
   begins again. *)
let rec for_slices loop code n =
  let pool = Pool.current () and if_closed () = for_slices loop code n in
  let workers = Int.min n (most pool) and cost = Site.cost code in
  let long = Site.estimate cost n >= Tuning.long_body * workers in
  let share = run_slice loop ~long ~n ~workers in
  let iterations = n / workers in
  let measured worker = Site.timed code cost ~iterations (fun () -> share worker) in
  Caller.with_worker Plainly (Instead if_closed) pool (fun w ->
      (* A further caller's own index is none of the loop's. *)
      let mine = if w.index < workers then w.index else 0 in
      let share worker = if worker = mine then measured worker else share worker in
      Region.run w ~to_the_end:true ~revoke:true ~workers share)

(* Alone, a worker may have an index that C was not told of. *)
let chunk loop cost ~workers ~worker lo hi =
  let worker = if worker < workers then worker else 0 and count = hi - lo + 1 in
  if Site.estimate cost count < Tuning.long_body then run loop ~workers ~worker ~start:lo ~count
  else run_unlocked loop ~workers ~worker ~start:lo ~count

let rec for_n_dynamic loop code n =
  let pool = Pool.current () and if_closed () = for_n_dynamic loop code n in
  let workers = most pool in
  let chunk = chunk loop (Site.cost code) ~workers in
  Team.run_dynamic (Instead if_closed) pool { n; chunk; code; most = workers; to_the_end = true }

(* A call with nothing to do is a checkpoint, too. *)
let if_any each loop code n = if n = 0 then Fiber.check () else each loop code n

(* In the order of kernel_stubs.c. *)
let () =
  Callback.register "muster.kernel"
    (if_any for_slices, if_any for_n_dynamic, workers, (invalid_arg : string -> unit))
