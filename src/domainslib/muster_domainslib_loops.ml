(* Domainslib's loops. What they promise is Domainslib's, how a range is shared is Muster's. *)

open Muster_core
open Muster_loop
module Bodies = Muster_domainslib_bodies
module Tree = Muster_domainslib_tree
module Pools = Muster_domainslib_pool

(* {2 Cutting}

   The length of Domainslib's chunks. It decides how a reduction is bracketed, and which bodies
   may count on running beside each other. *)

let beyond_any_machine = 1 lsl 32

let chunk_of (pool : Pools.t) chunk_size ~start ~finish =
  match chunk_size with
  | Some n when n > 0 -> n
  | _ ->
    let count = Int.max 1 (Loop.span start finish + 1) in
    if pool.asked = 1 then count else Int.max 1 (count / (8 * Int.min pool.asked beyond_any_machine))

let grain_of = function Some n when n > 0 -> n | _ -> 1
let is_one_chunk chunk ~start ~finish = Loop.span start finish < chunk

(* No more chunks than workers. *)
let is_for_all_at_once (pool : Pools.t) chunk ~start ~finish =
  Loop.span start finish / chunk < pool.asked

(* A share of [Muster.Team]'s cannot suspend: where a body waits, maybe for one of those that follow, it would
   wait as a whole. So a loop has a fiber of its own there. *)
let in_fiber f (w : Place.t) =
  let p = Promise.(make nowhere f) and records = Machine.backtrace_status () in
  Run.aside w ~handled:true ~records (Context.capture w) Run.in_fiber (Promise.any p);
  Fork.wait_done p;
  Fork.result p

let in_pool (pool : Pools.t) f =
  match Visit.place_in pool.pool with
  | Some w when w.own.handled -> f ()
  | Some w -> in_fiber f w
  | None -> Pools.enter pool f

(* A checkpoint, however little there is to do. *)
let begin_in pool =
  Pools.check pool;
  Context.check_if_any ()

(* {2 for} *)

(* A loop remembered as short: it stays with the caller, unless its beginning, no more than an eighth of it, takes
   so long that the rest is worth sharing. *)
let run_alone bodies code cost lo hi ~share =
  let since = Machine.ticks () and left = Loop.span lo hi in
  let tried = Int.max 1 (Int.min Site.sample (left / 8)) in
  let moves = ref false in
  let goes_on () =
    let took = Machine.ticks () - since in
    moves := took * (left + 1 - tried) >= 6 * Loop.worth * tried;
    not !moves
  in
  Bodies.sweep bodies lo hi ~trial:{ upto = lo + tried - 1; goes_on };
  let ticks = Machine.ticks () - since in
  if !moves then share (lo + tried) (Site.learn code ~ticks ~iterations:tried)
  else Site.confirm code cost ~ticks ~iterations:(left + 1)

(* Half of Domainslib's chunk saves looks around, unless it takes so long that they are due. *)
let long = 20 * Loop.quantum

let coarse ~chunk cost =
  if cost = Site.unknown then 1 else Int.min (chunk / 2) ((long lsl Site.shift) / Int.max 1 cost)

let sweep_all ~code ~grain ~chunk ~start ~finish bodies =
  let cost = Site.cost code in
  let share lo cost =
    let job = Bodies.job bodies ~code ~grain:(Int.max grain (coarse ~chunk cost)) in
    Loop.share job lo finish cost
  in
  if Site.estimate cost (Loop.span start finish) < Loop.worth then
    run_alone bodies code cost start finish ~share
  else share start cost

let unit () () = ()

(* [in_a_row] calls the body for each index of a part, until [is_over]. *)
let for_each ?chunk_size ~code ~start ~finish ~is_over ~in_a_row pool body =
  let chunk = chunk_of pool chunk_size ~start ~finish in
  if is_one_chunk chunk ~start ~finish then in_a_row start finish
  else
    in_pool pool @@ fun () ->
    if is_for_all_at_once pool chunk ~start ~finish then
      Tree.reduce Concurrent pool ~chunk ~code ~combine:unit ~start ~finish in_a_row
    else
      let grain = grain_of chunk_size in
      Bodies.run (Bodies.create ~chunk ~is_over body) (sweep_all ~code ~grain ~chunk ~start ~finish)

let never () = false

let parallel_for ?chunk_size ~start ~finish ~body pool =
  begin_in pool;
  let in_a_row lo hi =
    for i = lo to hi do
      body i
    done
  in
  if start <= finish then
    let code = Machine.code_of body in
    for_each ?chunk_size ~code ~start ~finish ~is_over:never ~in_a_row pool (One body)

(* {2 The others} *)

let parallel_for_reduce ?chunk_size ~start ~finish ~body pool combine init =
  begin_in pool;
  if start > finish then init
  else
    let chunk = chunk_of pool chunk_size ~start ~finish and code = Machine.code_of body in
    let several start finish = Tree.fold ~combine ~start ~finish body in
    let leaf = if chunk = 1 then fun i _ -> body i else several in
    let reduce manner () = Tree.reduce manner pool ~chunk ~code ~combine ~start ~finish leaf in
    let result =
      if is_one_chunk chunk ~start ~finish then leaf start finish
      else if is_for_all_at_once pool chunk ~start ~finish then in_pool pool (reduce Concurrent)
      else in_pool pool (reduce Parallel)
    in
    combine init result

(* Any will do, so that one who finds something stops all others; left of a failure, too. *)
let parallel_find ?chunk_size ~start ~finish ~body pool =
  begin_in pool;
  let found = Atomic.make None in
  let is_over () = Option.is_some (Atomic.get found) in
  let rec in_a_row i hi =
    if not (is_over ()) then
      match body i with None -> if i < hi then in_a_row (i + 1) hi | it -> Atomic.set found it
  in
  if start <= finish then begin
    let code = Machine.code_of body in
    for_each ?chunk_size ~code ~start ~finish ~is_over ~in_a_row pool (Row in_a_row)
  end;
  Atomic.get found

let parallel_scan (pool : Pools.t) op elements =
  begin_in pool;
  in_pool pool @@ fun () -> Muster_domainslib_scan.prefixes ~parts:pool.asked op elements
