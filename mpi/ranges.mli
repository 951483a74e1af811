(** Loops and reductions over a range. Muster_mpi says what each call does. *)

val parallel_for : start:int -> finish:int -> (int -> unit) -> unit

val parallel_reduce :
  ?grain:int -> start:int -> finish:int -> combine:('a -> 'a -> 'a) -> init:'a -> (int -> 'a) -> 'a

val parallel_reduce_range :
  ?grain:int ->
  start:int ->
  finish:int ->
  combine:('a -> 'a -> 'a) ->
  init:'a ->
  (start:int -> finish:int -> 'a) ->
  'a

val parallel_find : start:int -> finish:int -> (int -> 'a option) -> 'a option
val parallel_scan : ('a -> 'a -> 'a) -> 'a array -> 'a array
