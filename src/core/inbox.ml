(* A FIFO queue for many senders and many receivers: two lists in one atomic (the functional
   queue of Hood and Melville, 1981, under compare-and-set). It carries what comes from outside
   the pool, a few items at a time, so simplicity wins: every change is one compare-and-set of
   the whole, which is also the proof that it is linearizable. A state is never re-used, since
   each is freshly allocated, so there is no ABA. *)

type 'a state = { front : 'a list; back : 'a list }
type 'a t = 'a state Atomic.t

let create () = Atomic.make { front = []; back = [] }

let rec push q x =
  let s = Atomic.get q in
  if not (Atomic.compare_and_set q s { s with back = x :: s.back }) then push q x

let rec pop q =
  let s = Atomic.get q in
  match if s.front == [] then List.rev s.back else s.front with
  | [] -> None
  | x :: front ->
    let back = if s.front == [] then [] else s.back in
    if Atomic.compare_and_set q s { front; back } then Some x else pop q

let is_empty q = match Atomic.get q with { front = []; back = [] } -> true | _ -> false
