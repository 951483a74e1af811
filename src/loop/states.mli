(** States for the calls of a loop, such as buffers: each has one user at a time, whatever the user
    waits for. There are as many as there were users at once, and one at least. *)

type 's t

val create : (unit -> 's) -> 's t
(** [create make] has one state, made now: so the first user's work is measured without it. *)

val use : 's t -> ('s -> 'r) -> 'r
(** [use t f] is [f s] for a state that nobody else has until then: an idle one, else a new one. If
    [f] raises, nobody gets that state again. *)

val idle : 's t -> 's list
(** Those that nobody has. *)
