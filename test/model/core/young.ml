(* No collection moves anything here, and no promise is young: what is done without a barrier is not modelled. *)

type 'a t = { mutable value : 'a }

let make value = { value }
let get t = t.value
let set t value = t.value <- value
let moment _ = 0
