(** Layouts of values that differ from one release of the compiler to another. [Obj.magic] is here
    and in Blocks, and nowhere else. *)

include module type of Blocks

(** {2 One value per domain} *)

type 'a slot
(** For values of a record type with several fields, the first a [mutable] int. *)

val slot : (unit -> 'a) -> 'a slot
val get : 'a slot -> 'a
val set : 'a slot -> 'a -> unit

type index

val index : 'a slot -> index

val index_in_state : 'a slot -> int
(** For C: the slot's index in the array that domain-local storage is, -1 if that is unknown. *)

val first_word_set : index -> bool
(** Whether the first field of the calling domain's value is other than 0; no if the domain has no
    value yet. The whole cost of a fork that stays on its worker, about 1 ns. *)

(** {2 Handlers} *)

val fibers : (unit, unit) Effect.Deep.handler -> ('a -> unit) -> 'a -> unit
(** [fibers handler f] is a function that, given [x], does [Effect.Deep.match_with f x handler], and
    allocates nothing but a stack. Up to OCaml 5.5 no asynchronous exception strikes between an
    effect and the handler's use of the continuation. In the stdlib's, one may, and the fiber would
    be lost. *)
