(* Each element in an atomic of the checker's. *)

type 'a t = 'a Atomic.t array

let make n v = Array.init n (fun _ -> Atomic.make v)
let length = Array.length
let set_fresh slots i v = slots.(i) <- Atomic.make v
let get slots i = Atomic.get slots.(i)
let compare_and_set slots i seen next = Atomic.compare_and_set slots.(i) seen next
