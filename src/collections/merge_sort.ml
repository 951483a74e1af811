(* Stable, in place. *)
let sort = Stdlib.Array.stable_sort
