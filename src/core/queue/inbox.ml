(* A FIFO queue for many senders and many receivers: the linked list of Michael and Scott (PODC
   1996). Some programs send millions of tasks, so each operation touches one end only.

   [head] is a node whose item has been taken (or the first, which never had one); the items are
   in those after it. A sender appends by compare-and-set of the last node's [next], which is
   where the push takes effect; then it moves [tail], or another sender does. [tail] may lag behind,
   even behind [head]: it finds the end through [next], which is set once and never cleared. A
   receiver moves [head] by compare-and-set, which is where the pop takes effect. Nodes are never
   used again, so there is no ABA. *)

type 'a node = {
  item : 'a Atomic.t;  (** atomic as [oldest] reads it while a receiver may empty it *)
  next : 'a node option Atomic.t;
}

type 'a t = { empty : 'a; head : 'a node Atomic.t; tail : 'a node Atomic.t }

let node item = { item = Atomic.make item; next = Atomic.make None }

let create empty =
  let first = node empty in
  { empty; head = Atomic.make first; tail = Atomic.make first }

let rec append q fresh link =
  let last = Atomic.get q.tail in
  match Atomic.get last.next with
  | Some later ->
    ignore (Atomic.compare_and_set q.tail last later);
    append q fresh link
  | None ->
    if Atomic.compare_and_set last.next None link then
      ignore (Atomic.compare_and_set q.tail last fresh)
    else append q fresh link

let push q x =
  let fresh = node x in
  append q fresh (Some fresh)

let rec pop q =
  let taken = Atomic.get q.head in
  match Atomic.get taken.next with
  | None -> q.empty
  | Some first ->
    (* Only the receiver that has moved [head] empties the node. *)
    if Atomic.compare_and_set q.head taken first then Atomic.exchange first.item q.empty else pop q

let first q = Atomic.get (Atomic.get q.head).next
let oldest q = match first q with None -> q.empty | Some { item; _ } -> Atomic.get item
let is_empty q = Option.is_none (first q)
