(** The work on a piece of a list (Walk), and its results put together. *)

val source : 'a list Walk.source

val job :
  ?unit:int ->
  ?found:(int -> bool) ->
  ?kept:Muster_core.Outcome.failure Muster_core.Leftmost.t ->
  int ->
  's Walk.source ->
  ('s Walk.piece -> 'r) ->
  ('s, 'r) Walk.job
(** [job code source work]. *)

val run : int -> ('f -> 'a list Walk.piece -> 'r) -> 'f -> 'a list -> 'r list
(** [run code work f l] is the results of [work f], in order. *)

(** {2 Lists from lists} *)

val make : int -> ('f -> 'a list Walk.piece -> 'b list) -> 'f -> 'a list -> 'b list
(** The lists that [work f] makes, linked. *)

val make_from : int -> 's Walk.source -> ('s Walk.piece -> 'b list) -> 's -> 'b list * 's
(** [make_from code source work from]: the same from any source, and where it ended. *)

val map_piece : ('a -> 'b) -> 'a list Walk.piece -> 'b list
val mapi_piece : (int -> 'a -> 'b) -> 'a list Walk.piece -> 'b list
val filter_piece : ('a -> bool) -> 'a list Walk.piece -> 'a list
val filteri_piece : (int -> 'a -> bool) -> 'a list Walk.piece -> 'a list
val filter_map_piece : ('a -> 'b option) -> 'a list Walk.piece -> 'b list
val concat_map_piece : ('a -> 'b list) -> 'a list Walk.piece -> 'b list

val pairs : ('a list * 'b list) Walk.source
val map2_piece : ('a -> 'b -> 'c) -> ('a list * 'b list) Walk.piece -> 'c list

val init_piece : (int -> 'a) -> int -> int Walk.piece -> 'a list
(** Of indices less than the second argument. *)

val partition_piece : ('a -> bool) -> 'a list Walk.piece -> 'a Chain.t * 'a Chain.t

(** {2 Effects and counts} *)

val iter_piece : ('a -> unit) -> 'a list Walk.piece -> unit
val iteri_piece : (int -> 'a -> unit) -> 'a list Walk.piece -> unit
val count_piece : ('a -> bool) -> 'a list Walk.piece -> int
val histogram_piece : Groups.tables -> ('a -> int) -> 'a list Walk.piece -> unit

(** {2 Reductions and prefixes} *)

val reduce : int -> ('a -> 'a -> 'a) -> 'a list -> 'a option
(** [reduce code op l]. *)

val tallies : int -> int -> ('a -> 'a -> 'a) -> 'a list -> 'a Tally.t list
(** [tallies first code op l], where [l]'s first element has the index [first]. *)

val prefixes : ('a -> 'a -> 'a) -> 'a list -> 'a list
(** In place. *)
