(* C is all that uses the pool. *)

external sum_to : int -> int = "bare_sum_to"

let () = Printf.printf "%d\n" (sum_to 100)
