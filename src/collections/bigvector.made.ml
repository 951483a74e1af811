(* The end of the own text of Bigarray.Array1: results of another kind. *)

let rec make kind layout n f =
  if Adaptive.holds_up (code f) ~n then Adaptive.in_pool (fun () -> make kind layout n f)
  else if n < 2 then init kind layout n f
  else set_all n map_chunk f (( + ) (first layout)) (create kind layout n)

let init = make

let of_array kind layout a =
  let n = A.length a in
  if n < 2 then of_array kind layout a
  else set_all n init_chunk (A.unsafe_get a) () (create kind layout n)

let map_to kind f a = set_all (dim a) map_chunk f (source a) (create kind (layout a) (dim a))
let of_pieces a pieces = of_array (kind a) (layout a) (Pieces.concat pieces)
