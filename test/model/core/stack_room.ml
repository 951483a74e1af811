(* No stack overflows in a model. *)

let reserve () = ()
