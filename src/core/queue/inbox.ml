(* A FIFO queue for many senders and many receivers: the linked list of Michael and Scott (PODC
   1996). Some programs send millions of tasks, so each operation touches one end only.

   [head] is a node whose item has been taken (or the first, which never had one); the items are
   in those after it. A sender appends by compare-and-set of the last node's [next], which is
   where the push takes effect; then it moves [tail], or another sender does. [tail] may lag behind,
   even behind [head]: it finds the end through [next], which is set once and never cleared. A
   receiver moves [head] by compare-and-set, which is where the pop takes effect. Nodes are never
   used again, so there is no ABA. *)

(* [item] is atomic as [oldest] reads it while a receiver may empty it. A link without an option
   saves three words a task. *)
type 'a node = Nil | Node of { item : 'a Atomic.t; next : 'a node Atomic.t }
type 'a t = { empty : 'a; head : 'a node Atomic.t; tail : 'a node Atomic.t }

let node item = Node { item = Atomic.make item; next = Atomic.make Nil }

let create empty =
  let first = node empty in
  { empty; head = Atomic.make first; tail = Atomic.make first }

let rec append q fresh =
  match Atomic.get q.tail with
  | Nil -> assert false
  | Node { next; _ } as last -> (
    match Atomic.get next with
    | Nil when Atomic.compare_and_set next Nil fresh ->
      ignore (Atomic.compare_and_set q.tail last fresh)
    | Nil -> append q fresh
    | Node _ as later ->
      ignore (Atomic.compare_and_set q.tail last later);
      append q fresh)

let push q x = append q (node x)

let rec pop q =
  match Atomic.get q.head with
  | Nil -> assert false
  | Node { next; _ } as taken -> (
    match Atomic.get next with
    | Nil -> q.empty
    | Node n as first ->
      (* Only the receiver that has moved [head] empties the node. *)
      if Atomic.compare_and_set q.head taken first then Atomic.exchange n.item q.empty
      else pop q)

let oldest q =
  match Atomic.get q.head with
  | Nil -> assert false
  | Node { next; _ } -> (
    match Atomic.get next with Nil -> q.empty | Node { item; _ } -> Atomic.get item)

let is_empty q =
  match Atomic.get q.head with Nil -> assert false | Node { next; _ } -> Atomic.get next == Nil
