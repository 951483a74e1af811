(** Loops whose body takes a part of the range, bounds included, and runs a loop of its own over it:
    so its floats need no box. The parts depend on the range and the grain alone. *)

val parallel_for_range :
  ?grain:int -> start:int -> finish:int -> (start:int -> finish:int -> unit) -> unit

val parallel_reduce_range :
  ?grain:int ->
  start:int ->
  finish:int ->
  combine:('a -> 'a -> 'a) ->
  init:'a ->
  (start:int -> finish:int -> 'a) ->
  'a

(** {2 For other libraries} *)

val cut : ?grain:int -> int -> int -> int * int
(** [cut ?grain start finish]: the length of the parts, and the index of the last. *)
