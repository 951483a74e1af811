(** Loops whose body takes a chunk of indices: collections sweep it in a tight loop of their own,
    with no call per index but that of the user's function. The cost of an iteration is remembered
    under the code of that function, which the caller gives: the body's own code is the same for all
    users.

    Chunks are disjoint, so the leftmost event is that of the chunk with the smallest first index.
    They do not run past the bounds, and arrays never change their length: so bodies use
    [unsafe_get] and [unsafe_set]. *)

type 'a body = int -> int -> 'a option
(** A chunk, bounds included: [Some] ends the search, at least all that lies right of it. *)

val run : int -> int -> int -> (int -> int -> unit) -> unit
(** [run code lo hi body] sweeps [lo] to [hi]. *)

val run_long : int -> int -> int -> (int -> int -> unit) -> unit
(** The same for a range that is not trusted to be tiny (Adaptive). *)

val search : int -> int -> int -> 'a body -> 'a option
(** The result of the leftmost chunk that finds one. It may end at the first elements, for which
    nobody is woken. *)
