(** Prefixes of arrays. *)

val parallel_scan : ('a -> 'a -> 'a) -> 'a array -> 'a array

(** {2 For collections} *)

val one_block : int
(** The longest array that is scanned by its caller, with one call of the operation each. *)

val scan_size : int -> int
(** The length of the blocks of an array of that length, all but the last. *)

val checked_if_long : int -> ('a -> 'a -> 'a) -> 'a -> 'a -> 'a
(** In one block an operation that is not known to be short is a checkpoint: else a cancelled task
    would go on to its end. The first argument is its cost (Site). *)

val scan_in_blocks :
  code:int ->
  int ->
  make:(unit -> 'r) ->
  total:(int -> int -> 'a) ->
  scan:(('a -> 'a -> 'a) -> 'r -> 'a option -> int -> int -> unit) ->
  ('a -> 'a -> 'a) ->
  'r
(** [scan_in_blocks ~code n ~make ~total ~scan op], of [n] elements, at least 1: [total lo hi]
    reduces these, [scan op result carry lo hi] puts their prefixes into the result, which [make ()]
    makes. *)
