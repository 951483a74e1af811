(* C kernels: the OCaml side of muster.h.

   The parties: a stub, which OCaml called and which calls a loop of muster.h; the C side
   (kernel_stubs.c), which calls the OCaml function that is registered for that loop here; the
   pool's workers, each of which calls the C function for a slice or a chunk. Function and context
   travel as [int]s in the share's closure, on cache lines that the workers fetch anyhow.

   The memory that the stub's context points to lies on the C stack, as a rule. So no exception, not
   even a second Ctrl-C, may end the call while a slice runs or may still begin: that is
   [to_the_end], which Region promises.

   {b The domain lock.} A C body never polls, so while it runs with the lock held, every minor
   collection of the program waits for it. Releasing and taking the lock costs 0.1 us; at
   collections the runtime's backup thread stands in. So slices that last [long] or more run without
   it, and so do those of which nothing is known yet. The cost of an index is remembered by function
   (Site), as for OCaml bodies; the caller measures its own slice.

   {b Workers.} A stub may have made an array with a place for each of [muster_workers ()], and a
   pool grows if the process may use more CPUs. So the number that C was told of a pool is kept for
   as long as the pool is open, and no loop uses more. *)

module Fiber = Muster_core.Fiber
module Place = Muster_core.Place
module Pool = Muster_core.Pool
module Machine = Muster_core.Machine
module Caller = Muster_core.Caller
module Region = Muster_core.Region
module Compat = Muster_core.Compat
module Site = Muster_loop.Site
module Slices = Muster_loop.Slices
module Team = Muster_loop.Team

(* {2 Workers} *)

let told : (Place.pool * int) list Atomic.t = Atomic.make []

let rec told_of pool = function
  | [] -> max_int
  | (p, workers) :: rest -> if p == pool then workers else told_of pool rest

(* How many may take part. *)
let most pool = Int.min (Pool.size pool) (told_of pool (Atomic.get told))
let current_pool () = Pool.current ()

(* Of two threads that ask first, the later one gets the answer of the earlier. *)
let rec workers () =
  let pool = current_pool () in
  let before = Atomic.get told in
  let known = told_of pool before in
  if known < max_int then known
  else
    let is_open (p, _) = List.memq p (Atomic.get Place.open_pools) in
    let after = (pool, Pool.size pool) :: List.filter is_open before in
    ignore (Atomic.compare_and_set told before after);
    workers ()

(* {2 Bodies}

   [run] calls a C function for indices [start] to [start + count - 1], as one slice or one by one;
   [workers] is for loops within the body. *)

external run_slice :
  fn:(int[@untagged]) ->
  ctx:(int[@untagged]) ->
  workers:(int[@untagged]) ->
  worker:(int[@untagged]) ->
  start:(int[@untagged]) ->
  count:(int[@untagged]) ->
  unit = "muster_kernel_slice_byte" "muster_kernel_slice"
[@@noalloc]

external run_indices :
  fn:(int[@untagged]) ->
  ctx:(int[@untagged]) ->
  workers:(int[@untagged]) ->
  worker:(int[@untagged]) ->
  start:(int[@untagged]) ->
  count:(int[@untagged]) ->
  unit = "muster_kernel_indices_byte" "muster_kernel_indices"
[@@noalloc]

(* The same without the domain lock. *)

external run_slice_unlocked :
  fn:(int[@untagged]) ->
  ctx:(int[@untagged]) ->
  workers:(int[@untagged]) ->
  worker:(int[@untagged]) ->
  start:(int[@untagged]) ->
  count:(int[@untagged]) ->
  unit = "muster_kernel_slice_unlocked_byte" "muster_kernel_slice_unlocked"

external run_indices_unlocked :
  fn:(int[@untagged]) ->
  ctx:(int[@untagged]) ->
  workers:(int[@untagged]) ->
  worker:(int[@untagged]) ->
  start:(int[@untagged]) ->
  count:(int[@untagged]) ->
  unit = "muster_kernel_indices_unlocked_byte" "muster_kernel_indices_unlocked"

let long = Machine.ticks_of_us 20

(* {2 Slices} *)

let locked fn ctx n workers worker =
  let start, count = Slices.slice n workers worker in
  run_slice ~fn ~ctx ~workers ~worker ~start ~count

let unlocked fn ctx n workers worker =
  let start, count = Slices.slice n workers worker in
  run_slice_unlocked ~fn ~ctx ~workers ~worker ~start ~count

(* A program calls the same kernel again and again, mostly with the same arguments. Then the workers
   have read the share that was made for the last call, and need not fetch it. *)
type made = { fn : int; ctx : int; n : int; workers : int; is_long : bool; share : int -> unit }

let nothing = { fn = 0; ctx = 0; n = 0; workers = 0; is_long = false; share = ignore }
let last = Compat.padded (Atomic.make nothing)

let share_of fn ctx n workers ~is_long =
  let made = Atomic.get last in
  if
    made.fn = fn && made.ctx = ctx && made.n = n && made.workers = workers && made.is_long = is_long
  then made.share
  else begin
    let share =
      if is_long then fun worker -> unlocked fn ctx n workers worker
      else fun worker -> locked fn ctx n workers worker
    in
    Atomic.set last { fn; ctx; n; workers; is_long; share };
    share
  end

(* Two looks at the clock are a tenth of a short region, so these are measured now and then. *)
let is_telling (w : Place.t) all ~long = all >= long / 8 || w.own.counts.regions land 15 = 0

let measured share fn n workers mine worker =
  if worker <> mine then share worker
  else begin
    let since = Machine.ticks () in
    share worker;
    let ticks = Machine.ticks () - since and iterations = snd (Slices.slice n workers worker) in
    Site.confirm fn (Site.cost fn) ~ticks ~iterations
  end

(* A default pool that somebody closes meanwhile is replaced, as for OCaml's loops: the call begins
   again. *)
let rec for_slices fn ctx n =
  let pool = current_pool () and if_closed () = for_slices fn ctx n in
  let workers = Int.min n (most pool) in
  let all = Site.estimate (Site.cost fn) n and long = long * workers in
  let share = share_of fn ctx n workers ~is_long:(all >= long) in
  let in_place () =
    for worker = 0 to workers - 1 do
      share worker
    done
  in
  Caller.with_worker_plainly ~if_closed "Team" pool ~in_place (fun w ->
      (* A guest's own index is none of the loop's. *)
      let mine = if w.index < workers then w.index else 0 in
      let share =
        if is_telling w all ~long then fun worker -> measured share fn n workers mine worker
        else share
      in
      Region.run w ~to_the_end:true ~revoke:true ~workers share)

(* {2 Chunks} *)

(* Alone, a worker may have an index that C was not told of. *)
let chunk fn ctx workers cost ~worker lo hi =
  let worker = if worker < workers then worker else 0 and count = hi - lo + 1 in
  (if Site.estimate cost count < long then run_indices else run_indices_unlocked)
    ~fn ~ctx ~workers ~worker ~start:lo ~count

let rec for_n_dynamic fn ctx n =
  let pool = current_pool () and if_closed () = for_n_dynamic fn ctx n in
  let workers = most pool and cost = Site.cost fn in
  let chunk ~worker lo hi = chunk fn ctx workers cost ~worker lo hi in
  Team.run_dynamic ~if_closed pool { n; chunk; code = fn; most = workers; to_the_end = true }

(* A call with nothing to do is a checkpoint, too. *)
let if_any loop fn ctx n = if n = 0 then Fiber.check () else loop fn ctx n

let () =
  Callback.register "muster.for_slices" (if_any for_slices);
  Callback.register "muster.for_n_dynamic" (if_any for_n_dynamic);
  Callback.register "muster.workers" workers;
  Callback.register "muster.refuse" invalid_arg
