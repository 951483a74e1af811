(* A barrier has one meeting at a time. Its state is one atomic with an immutable value, changed as
   a whole by compare-and-set.

   {v Open --a party comes, leaves--> Open        Open --the last one comes--> Met v}

   A party that finds it [Met] puts a new meeting in its place, and comes to that one.

   Dead waiters. A waiter whose task is cancelled is dead from that moment. It leaves when its fiber
   runs again, which may be later. So a party that might be the last one counts the living waiters,
   and waits with them if they are too few. Else it ends the meeting with these. A waiter that dies
   between this count and its grant has counted, and goes on. A waiter that was dead before raises.
   Each waiter asks later which of the two it was, so [Met] has the list. A waiter that leaves stays
   in the queue, whose pushes sweep. At rest the meeting is empty. *)

type state =
  | Open of { count : int;  (** that have come and not left *) here : Waiter.t Fifo.t }
  | Met of Waiter.t list  (** in the order in which they came *)

type meeting = state Atomic.t
type t = { parties : int; meeting : meeting Atomic.t }

let nobody = Open { count = 0; here = Fifo.empty }

let create n =
  if n < 1 then invalid_arg (Printf.sprintf "Muster.Barrier.create: parties = %d is less than 1" n);
  { parties = n; meeting = Atomic.make (Atomic.make nobody) }

let parties t = t.parties
let alive here = List.filter Waiter.is_waiting (Fifo.to_list here)

let waiting t =
  match Atomic.get (Atomic.get t.meeting) with
  | Open { here; _ } -> List.length (alive here)
  | Met _ -> 0

(* {2 Come} *)

let replace t meeting = ignore (Atomic.compare_and_set t.meeting meeting (Atomic.make nobody))

(* [joined] is set in the same step, to an asynchronous exception. *)
let rec come t joined w =
  let meeting = Atomic.get t.meeting in
  let this = Some (meeting, w) in
  match Atomic.get meeting with
  | Met _ ->
    replace t meeting;
    come t joined w
  | Open { count; here } as seen ->
    let few = count + 1 < t.parties in
    let alive = if few then [] else alive here in
    if few || List.compare_length_with alive (t.parties - 1) < 0 then begin
      let here = Fifo.push_live ~is_live:Waiter.is_waiting here w in
      let state = Open { count = count + 1; here } in
      if Atomic.compare_and_set meeting seen state then joined := this else come t joined w
    end
    else
      let all = alive @ [ w ] in
      let duty = ref (Duty.grants all) in
      if Atomic.compare_and_set meeting seen (Met all) then begin
        joined := this;
        Duty.fulfil meeting duty;
        replace t meeting
      end
      else come t joined w

(* {2 Leave} *)

(* Whether it has counted: then it is too late. Else the state is a new one: a party that has
   counted this waiter before fails to end the meeting. *)
let rec leave meeting w =
  match Atomic.get meeting with
  | Met all -> List.memq w all
  | Open { count; here } as seen ->
    let state = if count = 1 then nobody else Open { count = count - 1; here } in
    if Atomic.compare_and_set meeting seen state then false else leave meeting w

let event = Event.make "Barrier.await"
let await t =
  let joined = ref None in
  let leave () = match !joined with Some (meeting, w) -> leave meeting w | None -> false in
  Waiter.wait_or_leave event (come t joined) ~leave
