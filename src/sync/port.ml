(* A channel's state is one immutable value, changed as a whole by compare-and-set.

   Parties: senders, receivers, closers, from any domain. Those without a partner wait in line with
   an [Offer]. Any party may accept it, and a cancellation may make it void at any time.

   buffer     at most [capacity] messages, in the order of their sends. [Offered e] is the message
              of a sender that waited and was moved here: it counts if [e] is accepted, else it is
              void.
   senders    in line, each with its message, the oldest first. One that was
              not accepted drops its message from the entry that it leaves behind ([drop]).
              Others read the message only after they have accepted.
   receivers  in line, each with a cell for a message.
   closed     for ever, and both lines empty.

   These hold in every state. "Open" says that the offer is ([Offer.is_open]). An offer that is not
   open now never will be, so a look before the compare-and-set is enough.

   1. A sender in line: the buffer is full. [line_up] asks for it, and a receive that makes room
      moves senders up in the same step ([move_up]).
   2. An open receiver in line: the buffer is empty. [line_up] asks for it, and a message goes
      into the buffer only if no receiver is open.
   3. An open sender and an open receiver in line: both of one race (a [select] that would send
      to or receive from the same channel). They got in line in one step; no other party does
      while the other line has an open offer.

   No message is lost, none comes twice. A message is with its sender, in the senders' line, or in
   the buffer. It leaves these two by a compare-and-set, so one party has it. A receiver that takes
   the entry of a waiting sender accepts the offer first: if it cannot, the sender raises or takes
   another offer, and this message never was sent. A sender that takes a waiting receiver's entry
   writes the cell, which is its own then, and accepts. If it cannot, the receiver never looks into
   the cell, and the sender goes on to the next. The party that moved an entry into the buffer
   accepts it afterwards, and the receiver that takes it from there asks again. Both get the same
   answer, so neither waits for the other.

   First in, first out, for each sender. When it sends again, its message is in the buffer, or
   received. A message goes past the buffer only if that is empty: to an open receiver (2), or from
   a waiting sender.

   No wait without a waker. A sender and a receiver that could meet are not both in line (3). A
   receive, which makes room, moves a waiting sender up (1); a send gives its message to a waiting
   receiver (2). A void entry in the buffer (its sender was cancelled between the move and the
   acceptance) may keep senders waiting: [repair], which the mover calls, moves them up. Close takes
   both lines.

   Every loop goes round only because another party's step succeeded, or an offer has become
   void. *)

type 'a t = {
  kind : 'a Type.Id.t;  (** of its messages, another one for each channel *)
  capacity : int;
  state : 'a state Atomic.t;
}

and 'a state = {
  buffer : 'a item Fifo.t;
  senders : 'a sender Fifo.t;
  receivers : 'a receiver Fifo.t;
  closed : bool;
}

and 'a item = Value of 'a | Offered of 'a sender
and 'a sender = { offer : Offer.t; mutable message : 'a received; sent : sent ref }
and 'a receiver = { wish : Offer.t; received : 'a received ref }
and sent = Sent | Refused | Full
and 'a received = Message of 'a | Drained | Nothing

let create ~capacity =
  let state =
    { buffer = Fifo.empty; senders = Fifo.empty; receivers = Fifo.empty; closed = false }
  in
  { kind = Type.Id.make (); capacity; state = Atomic.make state }

let number c = Type.Id.uid c.kind
let same a b = Type.Id.provably_equal a.kind b.kind
let length c = Fifo.length (Atomic.get c.state).buffer
let is_closed c = (Atomic.get c.state).closed

(* Each state is a new value, and the asking party keeps the old one. *)
let unchanged c =
  let s = Atomic.get c.state in
  fun () -> Atomic.get c.state == s

let sends (e : _ sender) = Offer.is_open e.offer
let receives r = Offer.is_open r.wish
let is_full c s = Fifo.length s.buffer >= c.capacity

let rec oldest is_open line =
  match Fifo.pop line with
  | Oldest (entry, rest) when not (is_open entry) -> oldest is_open rest
  | found -> found

(* {2 Room in the buffer} *)

(* The state with senders moved up, and these: they are accepted once the state has been changed. *)
let rec move_up c s moved =
  if Fifo.is_empty s.senders || is_full c s then (s, moved)
  else
    match oldest sends s.senders with
    | Empty -> ({ s with senders = Fifo.empty }, moved)
    | Oldest (e, senders) ->
      move_up c { s with buffer = Fifo.push s.buffer (Offered e); senders } (e :: moved)

let counts = function Value _ -> true | Offered e -> Offer.accept e.offer

(* May be done twice. *)
let rec accept_all c moved =
  let accepted = List.map (fun (e : _ sender) -> Offer.accept e.offer) (List.rev moved) in
  if not (List.for_all Fun.id accepted) then repair c

(* Drops void entries of the buffer. *)
and repair c =
  let s = Atomic.get c.state in
  let buffer = Fifo.of_list (List.filter counts (Fifo.to_list s.buffer)) in
  if Fifo.length buffer < Fifo.length s.buffer then begin
    let repaired, moved = move_up c { s with buffer } [] in
    if Atomic.compare_and_set c.state s repaired then Outcome.firmly accept_all c moved
    else repair c
  end

(* {2 Steps}

   One whose compare-and-set fails stays away for a moment: it is the other's turn. *)

(* Empties a line in which [oldest] has found no open offer, so that no party searches it again. *)
let forget c s line rest =
  if not (Fifo.is_empty line) then ignore (Atomic.compare_and_set c.state s rest)

let accept offer () = ignore (Offer.accept offer)
let message_of = function Value message -> Message message | Offered _ -> Nothing

(* A [Value] is returned at once, before anything is allocated: an asynchronous exception, which
   may be delivered at an allocation, would lose the message. *)
let rec receive c =
  let s = Atomic.get c.state in
  match Fifo.pop s.buffer with
  | Oldest (item, buffer) ->
    let taken = message_of item and state, moved = move_up c { s with buffer } [] in
    if not (Atomic.compare_and_set c.state s state) then receive_again c
    else begin
      (match moved with [] -> () | _ :: _ -> Outcome.firmly accept_all c moved);
      take c item taken
    end
  | Empty -> (
    match oldest sends s.senders with
    | Oldest (e, senders) ->
      let state = { s with senders } and item = Offered e in
      if Atomic.compare_and_set c.state s state then take c item Nothing
      else receive_again c
    | Empty ->
      forget c s s.senders { s with senders = Fifo.empty };
      if s.closed then Drained else Nothing)

and take c item taken =
  match item with
  | Value _ -> taken
  | Offered e ->
    Outcome.firmly accept e.offer ();
    if Offer.accept e.offer then e.message else receive c

and receive_again c =
  Duty.stay_away ();
  receive c

(* The entry is ours, so its cell is, until it is accepted. May be done twice. *)
let give r message =
  if receives r then begin
    r.received := message;
    ignore (Offer.accept r.wish)
  end

let rec send c message =
  let s = Atomic.get c.state in
  if s.closed then Refused
  else
    match oldest receives s.receivers with
    | Oldest (r, receivers) ->
      let state = { s with receivers } and given = Message message in
      if not (Atomic.compare_and_set c.state s state) then send_again c message
      else begin
        Outcome.firmly give r given;
        if Offer.accept r.wish then Sent else send_again c message
      end
    | Empty when is_full c s ->
      forget c s s.receivers { s with receivers = Fifo.empty };
      Full
    | Empty ->
      let buffer = Fifo.push s.buffer (Value message) in
      if Atomic.compare_and_set c.state s { s with buffer; receivers = Fifo.empty } then Sent
      else send_again c message

and send_again c message =
  Duty.stay_away ();
  send c message

let refuse (e : _ sender) =
  e.sent := Refused;
  ignore (Offer.accept e.offer)

let refuse_all senders receivers =
  List.iter refuse (Fifo.to_list senders);
  List.iter (fun r -> ignore (Offer.accept r.wish)) (Fifo.to_list receivers)

let rec close c =
  let s = Atomic.get c.state in
  if not s.closed then begin
    let closed = { s with senders = Fifo.empty; receivers = Fifo.empty; closed = true } in
    if Atomic.compare_and_set c.state s closed then
      Outcome.firmly refuse_all s.senders s.receivers
    else close c
  end

(* {2 Getting in line} *)

type 'a entry = To_send of 'a sender | To_receive of 'a receiver

(* The cell says what an acceptance means if nobody writes another meaning before it. *)
let to_send offer message =
  let sent = ref Sent in
  (To_send { offer; message = Message message; sent }, sent)

let to_receive wish =
  let received = ref Drained in
  (To_receive { wish; received }, received)

let drop = function
  | To_send e -> if not (Offer.accept e.offer) then e.message <- Nothing
  | To_receive _ -> ()

let has_to_wait c s = function
  | To_send _ -> is_full c s && not (Fifo.exists receives s.receivers)
  | To_receive _ -> Fifo.is_empty s.buffer && not (Fifo.exists sends s.senders)

let get_in_line s = function
  | To_send e -> { s with senders = Fifo.push_live ~is_live:sends s.senders e }
  | To_receive r -> { s with receivers = Fifo.push_live ~is_live:receives s.receivers r }

let rec line_up c entries =
  let s = Atomic.get c.state in
  (not s.closed)
  && List.for_all (has_to_wait c s) entries
  && (Atomic.compare_and_set c.state s (List.fold_left get_in_line s entries) || line_up c entries)
