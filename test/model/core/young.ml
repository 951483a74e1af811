(* No collection moves anything here. *)

type 'a t = { mutable value : 'a }

let make value = { value }
let get t = t.value
let set t value = t.value <- value
let moment _ = 0
