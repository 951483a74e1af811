(* A barrier has one meeting at a time. Its state is one atomic with an immutable value, changed as
   a whole by compare-and-set.

   {v Open --a party comes, leaves--> Open        Open --the last one comes--> Met v}

   A party that finds it [Met] puts a new meeting in its place, and comes to that one.

   Dead waiters. A waiter whose task is cancelled is dead from that moment. It leaves when its fiber
   runs again, which may be later. So a party that might be the last one counts the living waiters,
   and waits with them if they are too few. Else it ends the meeting with these. A waiter that dies
   between this count and its grant has counted, and goes on. A waiter that was dead before raises.
   Each waiter asks later which of the two it was, so [Met] has the list.

   A waiter that leaves stays in the list, since a search would cost too much. When more waiters
   have left than are counted, one pass drops all dead waiters. The waiters that have left pay for
   it. At rest the meeting is empty. *)

module Waiter = Muster_core.Waiter

type state =
  | Open of {
      count : int;  (** that have come and not left *)
      left : int;  (** at least as many of [here] as have left *)
      here : Waiter.t list;  (** the latest first *)
    }
  | Met of Waiter.t list  (** in the order in which they came *)

type meeting = state Atomic.t
type t = { parties : int; meeting : meeting Atomic.t }

let nobody = Open { count = 0; left = 0; here = [] }

let create n =
  if n < 1 then invalid_arg (Printf.sprintf "Muster.Barrier.create: parties = %d is less than 1" n);
  { parties = n; meeting = Atomic.make (Atomic.make nobody) }

let parties t = t.parties

let waiting t =
  match Atomic.get (Atomic.get t.meeting) with
  | Open { here; _ } -> List.length (List.filter Waiter.is_waiting here)
  | Met _ -> 0

(* {2 Come} *)

let replace t meeting = ignore (Atomic.compare_and_set t.meeting meeting (Atomic.make nobody))

(* [joined] is set in the same step, to an asynchronous exception. *)
let rec come t joined w =
  let meeting = Atomic.get t.meeting in
  let this = Some meeting in
  match Atomic.get meeting with
  | Met _ ->
    replace t meeting;
    come t joined w
  | Open { count; left; here } as seen ->
    let few = count + 1 < t.parties in
    let alive = if few then [] else List.filter Waiter.is_waiting here in
    if few || List.compare_length_with alive (t.parties - 1) < 0 then begin
      let state = Open { count = count + 1; left; here = w :: here } in
      if Atomic.compare_and_set meeting seen state then joined := this else come t joined w
    end
    else
      let all = List.rev (w :: alive) in
      if Atomic.compare_and_set meeting seen (Met all) then begin
        joined := this;
        Waiter.grant_all all;
        replace t meeting
      end
      else come t joined w

(* {2 Leave} *)

let without_dead count left here =
  if left <= count then Open { count; left; here }
  else Open { count; left = 0; here = List.filter Waiter.is_waiting here }

(* Whether it has counted: then it is too late. *)
let rec leave meeting w =
  match Atomic.get meeting with
  | Met all -> List.memq w all
  | Open { count; left; here } as seen ->
    let state = without_dead (count - 1) (left + 1) here in
    if Atomic.compare_and_set meeting seen state then false else leave meeting w

let await t =
  let joined = ref None and me = ref None in
  let register w =
    me := Some w;
    come t joined w
  in
  let leave () =
    match (!joined, !me) with Some meeting, Some w -> leave meeting w | None, _ | _, None -> false
  in
  Waiter.wait_or_leave register ~leave
