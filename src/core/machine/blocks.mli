(** Layouts that all known compilers share: blocks, their fields, arrays, cons cells. Compat
    includes this. *)

val padded : 'a -> 'a
(** A copy of a record or [Atomic.t] that shares its cache line with nothing. *)

(** {2 Atomics} *)

val first_word : 'a -> int Atomic.t
(** A record's first field, which must be a [mutable] int, as an atomic. (Records cannot have atomic
    fields before OCaml 5.4, and a boxed atomic would cost a fork another load.) *)

val atomic_at : 'a Atomic.t array -> int -> 'a Atomic.t
(** [Array.unsafe_get] without the test for an array of floats. *)

val recast : 'a Atomic.t -> 'b Atomic.t
(** The same atomic, for an existential type that costs no block: the compiler unboxes no
    constructor around an abstract type. Safe where ['b] lets nobody look at the content. *)

val store : 'a Atomic.t -> 'a -> unit
(** [Atomic.set] without its fence: a thread that sees this sees all earlier writes, but later reads
    may come before it. *)

val store_int : int Atomic.t -> int -> unit

(** {2 Arrays} *)

val make_blank : int -> like:'a -> 'a array
(** An array for elements that are all set before anybody reads them; [like] tells whether these are
    floats. It begins with no minor collection, as a long [Array.make n v] does where [v] is young.
    *)

val make_fresh : int -> 'a -> 'a array
(** [make_blank n ~like:v], of which the first element is [v]. *)

val make_together : int -> 'a -> share:(int -> (int -> int -> unit) -> unit) -> 'a array
(** Likewise, for arrays longer than any block of the minor heap. [share n put] calls [put from
    count] for parts of [0] to [n - 1], on any domains and at once, and returns in its own domain
    when all of these calls have. *)

val set_fresh : 'a array -> int -> 'a -> unit
(** [Array.unsafe_set] into an array from one of these that nobody else has seen, of which at least
    one element is still [v]: a plain store where the new element is an immediate, 2 ns less. *)

val replace : 'a array -> int -> 'a -> unit
(** [Array.unsafe_set]; a plain store where an immediate comes in the place of one. *)

(** {2 Lists built from the front}

    As the compiler's own tail-modulo-cons code builds them. A list must not be looked at before its
    end is known. *)

val hook : unit -> 'a list
(** A cell to hang a list on. Its head is nothing. *)

val hang : 'a list -> 'a list -> unit
(** [hang cell rest] makes [rest] the tail of [cell], which must be a cell. *)
