(* A guess may be right or wrong: a model says what it is. *)

let unknown = 0
let other = -1
let is_good_guess = ref true
let () = Atomic.at_start := (fun () -> is_good_guess := true) :: !Atomic.at_start
let key _ = 1
let is_good _ = !is_good_guess
let seems_good = is_good
let find _ = if !is_good_guess then 1 else other
let note = ignore
let forget = ignore
