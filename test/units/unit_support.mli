(** What the tests of the scheduler's parts share. *)

val each_word : 'a list -> length:int -> ('a list -> unit) -> unit
(** Calls the function with every list of that length with these elements. *)

type 'a round = { state : 'a; left : 'a -> unit; right : 'a -> unit }
(** One round of a race: what two domains do to a fresh state, at the same time. *)

val race : ?seconds:float -> make:(int -> 'a round) -> verdict:('a -> unit) -> unit -> unit
(** Races round after round, the calling domain on the [left], for [seconds] (default 1);
    [verdict] is called after each, when both have come to the end, and fails if it raises. A
    side that raises leaves the other waiting: end the test then. *)

val at_allocation : ?counts:bool ref -> int -> (unit -> unit) -> (unit -> unit) -> bool
(** [at_allocation n f work] calls [f] at the [n]th allocation of [work ()], where it may raise, too:
    [work] catches that. While [counts] is false, allocations do not count. Whether there were so many; false where OCaml cannot tell (5.2). *)
