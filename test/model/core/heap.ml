(* The checker's own heap stays as it is. *)

let words () = 0
let choice words = words
let set = ignore
let for_workers ~chosen:_ ~workers:_ = None
let settle ~chosen:_ ~workers:_ = ()
let give_back ~chosen:_ = ()
