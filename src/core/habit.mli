(** What the tasks of one function have done so far.

    A task {e keeps to itself} if nothing that it does depends on what others do: it ends soon, waits for nobody, comes to nothing
    that might have made it wait (a lock, a channel, a latch, a scope, a region), nor to [Task.check], and awaits only tasks that keep to
    themselves, too.
    That the last 64 did, and none since, is a guess at what the next one will do, as for branches (J. E. Smith, "A study of branch
    prediction strategies", 1981). *)

val unknown : int
(** No function's key. *)

val other : int
(** Nor is this. *)

external key : (unit -> 'a) -> int = "muster_habit_key"
[@@noalloc]
(** A function's, above 0: equal for closures of one expression, if those among what they hold, where one wraps another or is
    a partial application, are equal, too. 1 ns where it is remembered, otherwise 5. *)

val is_good : int -> bool
(** Whether tasks of the function with that key have kept to themselves 64 times in a row, and none was seen since that did
    not. *)

val seems_good : int -> bool
(** Whether the last one that was seen did. *)

val find : (unit -> 'a) -> int
(** A function's key if it is good; else {!other}. *)

val note : int -> unit
(** A task of that function has kept to itself. Of {!unknown}: nothing. *)

val forget : int -> unit
(** One has not. *)
