type 'a t = 'a array

external get : 'a array -> int -> 'a = "muster_slots_get" [@@noalloc]

external compare_and_set : 'a array -> int -> 'a -> 'a -> bool = "muster_slots_compare_and_set"
[@@noalloc]

let make = Array.make
let length = Array.length
let set_fresh = Array.set
