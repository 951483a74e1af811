(* One atomic with an immutable state, changed as a whole by compare-and-set. A waiter joins only
   while the count is above 0. The call that takes it to 0 takes all waiters out in the same step,
   and grants them. Dead waiters (of cancelled tasks) need no care. At rest it is [opened]. *)

module Waiter = Muster_core.Waiter

type state = { left : int; waiters : Waiter.t Fifo.t }
type t = state Atomic.t

let opened = { left = 0; waiters = Fifo.empty }
let invalid fn what = invalid_arg ("Muster.Latch." ^ fn ^ ": " ^ what)

let create n =
  if n < 0 then invalid "create" (Printf.sprintf "count = %d is less than 0" n);
  Atomic.make (if n = 0 then opened else { opened with left = n })

let rec count_down t =
  match Atomic.get t with
  | { left = 0; _ } -> invalid "count_down" "the count is 0 already"
  | { left = 1; waiters } as seen ->
    let waiters = Fifo.to_list waiters in
    if Atomic.compare_and_set t seen opened then Waiter.grant_all waiters else count_down t
  | { left; _ } as seen ->
    if not (Atomic.compare_and_set t seen { seen with left = left - 1 }) then count_down t

let rec join t w =
  match Atomic.get t with
  | { left = 0; _ } -> ignore (Waiter.grant w)
  | seen ->
    let waiters = Fifo.push ~is_live:Waiter.is_waiting seen.waiters w in
    if not (Atomic.compare_and_set t seen { seen with waiters }) then join t w

let count t = (Atomic.get t).left
let await t = if count t > 0 then Waiter.wait (join t)
