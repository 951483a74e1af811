(* A range, halved until its parts have at most [chunk] indices, which is how Domainslib cuts
   it: so a reduction combines in the same order here and there, to the last bit of a float,
   and the order depends neither on the machine nor on who runs what.

   Where a subtree is computed is decided on the way, in one of two manners:
   - [Parallel]: as Muster does, only where it pays.
   - [Concurrent]: each part is a task, begun even if the others never end, or have failed. Domainslib's loops
     over no more parts than the pool has workers are like that, and programs start as many
     bodies that wait for each other as there are workers. *)

open Muster_core
open Muster_loop

type manner = Parallel | Concurrent of Muster_domainslib_pool.t

type 'a t = {
  leaf : int -> int -> 'a;  (** the value of a chunk *)
  combine : 'a -> 'a -> 'a;
  chunk : int;
  manner : manner;
  code : int;
  failures : Outcome.failure Leftmost.t;
}

(* Everything right of a failure is to stop. *)
let noted t hi f = Outcome.on_failure f (Leftmost.note t.failures hi)

(* Nothing is compared with [finish + 1], which may not be there. *)
let fold ~combine ~start ~finish body =
  let rec from acc i = if i = finish then acc else from (combine acc (body (i + 1))) (i + 1) in
  from (body start) start

let[@inline] is_leaf t lo hi = Loop.span lo hi < t.chunk
let[@inline] middle lo hi = lo + (Loop.span lo hi / 2)

let rec plain t lo hi =
  if is_leaf t lo hi then t.leaf lo hi
  else
    let mid = middle lo hi in
    let left = plain t lo mid in
    t.combine left (plain t (mid + 1) hi)

let measured t lo hi =
  noted t hi (fun () ->
      let since = Machine.ticks () in
      let v = plain t lo hi in
      let ticks = Machine.ticks () - since in
      ignore (Site.learn t.code ~ticks ~iterations:(Loop.span lo hi + 1));
      v)

(* No asynchronous exception (Ctrl-C) ends the wait before the task: it is raised afterwards. *)
let settled p =
  match Task.await p with
  | v -> Ok v
  | exception exn ->
    let failure = Outcome.caught exn in
    if not (Promise.is_done p) then Fork.wait_done p;
    Error failure

(* A part of what the caller is a part of, as a branch of [both] is. *)
let start (pool : Muster_domainslib_pool.t) g =
  let w = Context.place () in
  if w.pool == pool.pool && Place.owned w then
    Task.offer w (Promise.make pool.home (Context.carry w g))
  else Muster_domainslib_pool.async pool g

let concurrently pool f g =
  let p = start pool g in
  match f () with
  | a -> ( match settled p with Ok b -> (a, b) | Error failure -> Context.rethrow failure)
  | exception exn ->
    (* A cancellation that the wait is told of is yet to be heard. *)
    let failure = Outcome.caught exn and tell_again = Context.keep () in
    ignore (settled p);
    tell_again ();
    Context.rethrow failure

let in_parallel rest f g =
  Loop.look_up_between_chunks ();
  let w = Context.place () in
  if Place.owned w && Deque.size w.deque = 0 && not (Place.alone w) then
    Fork.both_offered w ~wake:(rest >= Loop.worth_waking) f g
  else Fork.in_place f g

let rec node t lo hi =
  match t.manner with
  | Concurrent pool ->
    if is_leaf t lo hi then noted t hi (fun () -> t.leaf lo hi)
    else begin
      let mid = middle lo hi in
      let l, r = concurrently pool (fun () -> node t lo mid) (fun () -> node t (mid + 1) hi) in
      noted t hi (fun () -> t.combine l r)
    end
  | Parallel ->
    if Leftmost.stops t.failures lo then raise Promise.Skipped;
    let rest = Site.estimate (Site.cost t.code) (Loop.span lo hi + 1) in
    if is_leaf t lo hi || rest <= Loop.quantum then measured t lo hi
    else
      let mid = middle lo hi in
      let l, r = in_parallel rest (fun () -> node t lo mid) (fun () -> node t (mid + 1) hi) in
      noted t hi (fun () -> t.combine l r)

(* The exceptions of leaves come before a cancellation that somebody was told between them. *)
let reduce manner ~chunk ~code ~combine ~start ~finish leaf =
  let t = { leaf; combine; chunk; manner; code; failures = Leftmost.create () } in
  Context.raising (fun () -> Leftmost.get t.failures) (fun () -> node t start finish)
