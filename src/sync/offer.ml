(* {v race  undecided --accept i--> i          waiter  waiting --grant--> granted
                      \-withdraw--> withdrawn                  \-cancel-> dead v}

   A race is decided once, by a compare-and-set. The party that has decided for offer
   [i] grants the waiter. If the waiter is dead, the event goes to another waiter; the dead one
   raises, and has no use for its other offers either. So an offer is accepted iff its race was
   decided for it and its waiter was granted. Both are final, so every later [accept] answers the
   same. Between the two steps another party may do the second one, too. So no party waits for a
   party that the machine has stopped. *)

type race = int Atomic.t
type t = { race : race; number : int; waiter : Waiter.t }

let undecided = -1
let withdrawn = -2
let race () = Atomic.make undecided
let of_race race number waiter = { race; number; waiter }
let decide race verdict = Atomic.compare_and_set race undecided verdict
let withdraw race = decide race withdrawn
let is_decided race = Atomic.get race <> undecided

let winner race =
  let number = Atomic.get race in
  if number >= 0 then Some number else None

let is_open t = (not (is_decided t.race)) && Waiter.is_waiting t.waiter

(* An earlier call of [accept] may have granted it. *)
let accept { race; number; waiter } =
  (decide race number || Atomic.get race = number) && Waiter.has_granted waiter
