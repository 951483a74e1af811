(** Domainslib's loops, cut as it cuts them: a range is halved down to chunks, and of two halves the
    right one becomes a task. So a reduction combines in the same order here and there. *)

module Pools := Muster_domainslib_pool

val parallel_for :
  ?chunk_size:int -> start:int -> finish:int -> body:(int -> unit) -> Pools.t -> unit

val parallel_for_reduce :
  ?chunk_size:int ->
  start:int ->
  finish:int ->
  body:(int -> 'a) ->
  Pools.t ->
  ('a -> 'a -> 'a) ->
  'a ->
  'a

val parallel_scan : Pools.t -> ('a -> 'a -> 'a) -> 'a array -> 'a array

val parallel_find :
  ?chunk_size:int -> start:int -> finish:int -> body:(int -> 'a option) -> Pools.t -> 'a option
