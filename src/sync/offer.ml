(* {v race  undecided --accept i--> i          waiter  waiting --grant--> granted
                      \-withdraw--> withdrawn                  \-cancel-> dead v}

   A race is decided once, by a compare-and-set. The party that has decided for offer
   [i] grants the waiter. If the waiter is dead, the event goes to another waiter; the dead one
   raises, and has no use for its other offers either. So an offer is accepted iff its race was
   decided for it and its waiter was granted. Both are final, so every later [accept] answers the
   same. Between the two steps another party may do the second one, too. So no party waits for a
   party that the machine has stopped.

   An offer without rivals needs no race: only its own acceptance grants its waiter. *)

module Waiter = Muster_core.Waiter

type race = int Atomic.t
type t = Alone of Waiter.t | One_of of { race : race; number : int; waiter : Waiter.t }

let undecided = -1
let withdrawn = -2
let alone waiter = Alone waiter
let race () = Atomic.make undecided
let one_of race number waiter = One_of { race; number; waiter }
let decide race verdict = Atomic.compare_and_set race undecided verdict
let withdraw race = decide race withdrawn
let is_decided race = Atomic.get race <> undecided

let winner race =
  let number = Atomic.get race in
  if number >= 0 then Some number else None

let is_open = function
  | Alone waiter -> Waiter.is_waiting waiter
  | One_of { race; waiter; _ } -> (not (is_decided race)) && Waiter.is_waiting waiter

(* An earlier call of [accept] may have granted it. *)
let accept = function
  | Alone waiter -> Waiter.has_granted waiter
  | One_of { race; number; waiter } ->
    (decide race number || Atomic.get race = number) && Waiter.has_granted waiter
