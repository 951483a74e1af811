(* The checker's own heap stays as it is. *)

let words () = 0
let wanted words = words
let set ?lasting:_ _ = ()
let of_creator _ ~size:_ = None
let settle _ = ()
let fit _ ~tell:_ = ()
let give_back _ ~outermost:_ = ()
