(** What the tasks of one function have done so far.

    A task {e keeps to itself} if nothing that it does depends on what others do: it waits for nobody, comes to nothing that might
    have made it wait (a lock, a channel, a latch, a parallel loop), and awaits only tasks that keep to themselves, too.
    That those so far did is a guess at what the next one will do, as for branches (J. E. Smith, "A study of branch
    prediction strategies", 1981). *)

val unknown : int
(** No function's key. *)

val other : int
(** Nor is this. *)

external key : (unit -> 'a) -> int = "muster_habit_key"
[@@noalloc]
(** A function's, above 0: equal for closures of one expression, if those among what they hold, where one wraps another or is
    a partial application, are equal, too. 5 ns. *)

val is_good : int -> bool
(** Whether a task of the function with that key has kept to itself, and none was seen since that did not. *)

val find : (unit -> 'a) -> int
(** A function's key if it is good; else {!other}. *)

val note : int -> unit
(** A task of that function has kept to itself. Of {!unknown}: nothing. *)

val forget : int -> unit
(** One has not. *)
