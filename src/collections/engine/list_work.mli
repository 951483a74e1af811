(** The work on a piece of a list (Walk), and its results put together. *)

val run : int -> int -> ('f -> 'a list Walk.piece -> 'r) -> 'f -> 'a list -> 'r list
(** [run first code work f l] is the results of [work f], in order; [first] is the index of [l]'s
    first element. *)

(** {2 Lists from lists} *)

val make : int -> ('f -> 'a list Walk.piece -> 'b list) -> 'f -> 'a list -> 'b list
(** [make code work f l] links the lists that [work f] makes. *)

val make_from :
  int -> 's Walk.source -> ('f -> 's Walk.piece -> 'b list) -> 'f -> 's -> 'b list * 's
(** [make_from code source work f from]: the same from any source, and where it ended. *)

val map : ('a -> 'b) -> 'a list Walk.piece -> 'b list
val mapi : (int -> 'a -> 'b) -> 'a list Walk.piece -> 'b list
val filter : ('a -> bool) -> 'a list Walk.piece -> 'a list
val filteri : (int -> 'a -> bool) -> 'a list Walk.piece -> 'a list
val filter_map : ('a -> 'b option) -> 'a list Walk.piece -> 'b list
val concat_map : ('a -> 'b list) -> 'a list Walk.piece -> 'b list
val pairs : ('a list * 'b list) Walk.source
val map2 : ('a -> 'b -> 'c) -> ('a list * 'b list) Walk.piece -> 'c list

val indices : int -> int Walk.source
(** Those less than a number. *)

val init : (int -> 'a) * int -> int Walk.piece -> 'a list
val partition : int -> ('a -> bool) -> 'a list -> 'a list * 'a list

(** {2 Effects and counts} *)

val iter : ('a -> unit) -> 'a list Walk.piece -> unit
val iteri : (int -> 'a -> unit) -> 'a list Walk.piece -> unit
val count : ('a -> bool) -> 'a list Walk.piece -> int
val histogram : Groups.tables -> ('a -> int) -> 'a list Walk.piece -> unit

(** {2 Searches} *)

val search :
  int ->
  ('f -> 'a list Walk.piece -> int -> 'a list -> int -> 'b option) ->
  'f ->
  'a list ->
  'b option
(** [search code look f l] is what [look] finds first. *)

val seek : ('a -> bool) -> 'a list Walk.piece -> int -> 'a list -> int -> (int * 'a) option
val seek_bad : ('a -> bool) -> 'a list Walk.piece -> int -> 'a list -> int -> unit option
val find_mapi : (int -> 'a -> 'b option) -> 'a list Walk.piece -> int -> 'a list -> int -> 'b option
val find_map : ('a -> 'b option) -> 'a list Walk.piece -> int -> 'a list -> int -> 'b option
val mem : 'a -> 'a list -> bool

(** {2 Reductions and prefixes} *)

val reduce : int -> ('a, 'v) Tally.fold -> 'a list -> 'v
(** [reduce code fold l], of a list that is not empty. *)

val append :
  ?is_part:bool -> int -> int -> ('a, 'v) Tally.fold -> 'v Tally.nodes -> 'a list -> 'v Tally.nodes
(** [append first code fold nodes l], for sequences: [nodes] are those of the elements before [l].
    More may come after it, unless [is_part] is false. *)

val prefixes : ('a -> 'a -> 'a) -> 'a list -> 'a list
(** In place. *)
