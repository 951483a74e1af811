(** All that depends on how a release of the compiler lays out its values. [Obj.magic] is here and
    in Blocks, which this includes, and nowhere else. *)

type 'a slot
(** One value per domain, of a record type with several fields, the first a [mutable] int. *)

val slot : (unit -> 'a) -> 'a slot
val get : 'a slot -> 'a

val shows : 'a slot -> 'a -> bool
(** Whether [get] would be that very value, which is not the one that [slot] makes. *)

val set : 'a slot -> 'a -> unit

type index

val index : 'a slot -> index

val index_in_state : 'a slot -> int
(** For C: the slot's index in the array that domain-local storage is, -1 if that is unknown. *)

val first_word_set : index -> bool
(** Whether the first field of the calling domain's value is other than 0; no if the domain has
    no value yet. The whole cost of a fork that stays on its worker, about 1 ns. *)

val first_word : 'a -> int Atomic.t
(** The record's first field, which must be a [mutable] int, as an atomic. Records cannot have
    atomic fields before OCaml 5.4, and a boxed atomic would cost the fork another load. *)

val padded : 'a -> 'a
(** A copy of a record or [Atomic.t] that shares its cache line with nothing. *)

val atomic_at : 'a Atomic.t array -> int -> 'a Atomic.t
(** [Array.unsafe_get] without the test for an array of floats. *)

val recast : 'a Atomic.t -> 'b Atomic.t
(** The same atomic, for an existential type that costs no block: the compiler unboxes no
    constructor around an abstract type. Safe where ['b] lets nobody look at the content. *)

val store : 'a Atomic.t -> 'a -> unit
(** [Atomic.set] without its fence: a thread that sees this sees all earlier writes, but later
    reads may come before it. *)

val store_int : int Atomic.t -> int -> unit
(** The same. *)

val make_blank : int -> like:'a -> 'a array
(** An array of so many, for elements that are all set before anybody reads them; [like] tells
    whether these are floats. A long one does not begin with a minor collection, as [Array.make n v]
    does where [v] is young. *)

val make_fresh : int -> 'a -> 'a array
(** [make_blank n ~like:v], of which the first element is [v]. *)

val make_together : int -> 'a -> share:(int -> (int -> int -> unit) -> unit) -> 'a array
(** Likewise, for arrays longer than any block of the minor heap: only the first element is [v].
    [share n put] calls [put from count] for parts of [0] to [n - 1], on any domains and at once,
    and returns, on the domain on which it was called, when all of these calls have. *)

val set_fresh : 'a array -> int -> 'a -> unit
(** [Array.unsafe_set] into an array from [make_blank n], [make_fresh n v] or [make_together n v]
    that nobody else has seen, of which at least one element is still [v]: a plain store where the
    new element is an immediate, which takes 2 ns less. *)

val replace : 'a array -> int -> 'a -> unit
(** [Array.unsafe_set]; likewise where an immediate comes in the place of one. *)

val match_with : ('a -> unit) -> 'a -> (unit, unit) Effect.Deep.handler -> unit
(** [Effect.Deep.match_with]. Up to OCaml 5.5 no asynchronous exception strikes between an effect
    and what the handler does with the continuation, where it would be lost: the stdlib's function
    looks for signals there. *)

val fibers : (unit, unit) Effect.Deep.handler -> ('a -> unit) -> 'a -> unit
(** [fibers handler f] is a function that, given [x], does [match_with f x handler], and allocates
    nothing but a stack. *)

(** {2 Lists built from the front}

    As the compiler's own tail-modulo-cons code builds them. A list must not be looked at before its
    end is known. *)

val hook : unit -> 'a list
(** A cell to hang a list on. Its head is nothing. *)

val hang : 'a list -> 'a list -> unit
(** [hang cell rest] makes [rest] the tail of [cell], which must be a cell. *)

val settle : 'a list -> 'a list
(** [settle l] is the last cell of a copy of [l] in the major heap, whose tail is the first. [l]
    must have a cell. *)
