(* Nobody traces. *)

let spin f = f ()
