(** The elements of an array that a predicate chooses, in order. *)

type marks
(** A byte for each element. *)

val marks : int -> int -> (marks -> int -> int -> unit) -> marks
(** [marks code n sweep]: [sweep marks lo hi] marks each of these indices. *)

val mark : marks -> int -> bool -> unit

type found = private { offsets : bytes; start : int; count : int }
(** The chosen ones of a block. *)

val index : found -> int -> int
(** The index of the [j]-th of these. *)

val block : int
(** The length of a block. *)

val pack :
  ?others:bool ->
  marks ->
  empty:'r ->
  make:(int -> int -> 'r) ->
  move:('r -> int -> found -> unit) ->
  'r
(** The chosen elements, or with [~others:true] the others. [make count i] is a result of that
    length that may begin as if filled with element [i]. [move result at found] puts the elements of
    [found] into it from [at] on. *)
