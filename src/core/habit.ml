(* The tables are in habit_stubs.c. *)

external key : (unit -> 'a) -> int = "muster_habit_key" [@@noalloc]
external is_good : int -> bool = "muster_habit_is_good" [@@noalloc]
external seems_good : int -> bool = "muster_habit_seems_good" [@@noalloc]
external find : (unit -> 'a) -> int = "muster_habit_find" [@@noalloc]
external note : int -> unit = "muster_habit_note" [@@noalloc]
external forget : int -> unit = "muster_habit_forget" [@@noalloc]

let unknown = 0
let other = -1
