(** Loops whose body takes a chunk of indices, bounds included: collections sweep it in a tight loop
    of their own, with no call per index but that of the user's function. The cost of an iteration
    is remembered under that function's code, which the caller gives.

    Chunks are disjoint, so the leftmost event is that of the chunk with the smallest first index.
    They do not run past the bounds, and arrays never change their length: so bodies read and write
    without a check. *)

val run : int -> int -> ('f -> 's -> int -> int -> unit) -> 'f -> 's -> unit
(** [run code n chunk f s] sweeps [n] indices: [chunk f s lo hi] does those from [lo] to [hi]. *)

val fill : int -> int -> ('f -> 's -> 'r -> int -> int -> unit) -> 'f -> 's -> 'r -> unit
(** The same, with one argument more. *)

val search : int -> int -> ('f -> 's -> int -> int -> 'a option) -> 'f -> 's -> 'a option
(** The result of the leftmost chunk that finds one. *)
