(** The stdlib's [Float.Array], run in parallel where it pays: {!Array} for unboxed floats. The
    rules of {!Array.shared} and the descriptions of {!Array}'s functions hold here too. *)

include module type of struct
  include Stdlib.Float.Array
end

(** {1 One result for each element} *)

val init : int -> (int -> float) -> t
val map : (float -> float) -> t -> t
val mapi : (int -> float -> float) -> t -> t
val map_init : init:(unit -> 's) -> ('s -> float -> float) -> t -> t
val map2 : (float -> float -> float) -> t -> t -> t
val map_inplace : (float -> float) -> t -> unit
val mapi_inplace : (int -> float -> float) -> t -> unit
val map_to_array : (float -> 'a) -> t -> 'a array
val map_from_array : ('a -> float) -> 'a array -> t

(** {1 Effects} *)

val iter : (float -> unit) -> t -> unit
val iteri : (int -> float -> unit) -> t -> unit
val iter2 : (float -> float -> unit) -> t -> t -> unit

(** {1 Reductions}

    For associative operations. A sum of floats is not quite associative, but it has the same bits
    on any number of domains. *)

val fold : (float -> float -> float) -> float -> t -> float
(** [fold op init a] is [fold_left op init a] for an associative [op]. It passes floats in boxes: to
    sum them take {!sum}, or [Muster.parallel_reduce_range]. *)

val fold_parts :
  init:(unit -> 'b) -> add:('b -> float -> 'b) -> combine:('b -> 'b -> 'b) -> t -> 'b
(** [fold_parts ~init ~add ~combine a] folds to another type, by parts: see {!Array.fold_parts}. *)

val map_reduce : combine:('b -> 'b -> 'b) -> init:'b -> (float -> 'b) -> t -> 'b
(** [map_reduce ~combine ~init f a] combines [init] and the values of [f], in this order. *)

val reduce : (float -> float -> float) -> t -> float option
(** [reduce op a] is [fold] without [init]; [None] if [a] is empty. *)

val scan : (float -> float -> float) -> t -> t
(** [scan op a] is the array of the inclusive prefixes. *)

val min : (float -> float -> int) -> t -> float option
(** [min cmp a] is the least element, of equal ones the leftmost; [None] if [a] is empty. *)

val max : (float -> float -> int) -> t -> float option
(** [max cmp a] is the greatest element, of equal ones the leftmost; [None] if [a] is empty. *)

val count : (float -> bool) -> t -> int
(** [count p a] is the number of elements that satisfy [p]. *)

(** {1 Numbers}

    As those of {!Array}, with the same bounds. *)

val sum : t -> float

val dot : t -> t -> float
(** {b Raises} [Invalid_argument] if the lengths differ. *)

val mean : t -> float option
val min_max : t -> (float * float) option

(** {1 Searches} *)

val exists : (float -> bool) -> t -> bool
val for_all : (float -> bool) -> t -> bool
val mem : float -> t -> bool
val mem_ieee : float -> t -> bool
val find_opt : (float -> bool) -> t -> float option
val find_index : (float -> bool) -> t -> int option
val find_map : (float -> 'a option) -> t -> 'a option
val find_mapi : (int -> float -> 'a option) -> t -> 'a option

(** {1 Some of the elements} *)

val filter : (float -> bool) -> t -> t
val partition : (float -> bool) -> t -> t * t
val filter_map : (float -> float option) -> t -> t
val concat_map : (float -> t) -> t -> t

(** {1 Sorting}

    In place, and stable. {b Cost}: memory for another array of that length. *)

val sort : (float -> float -> int) -> t -> unit
val stable_sort : (float -> float -> int) -> t -> unit
val fast_sort : (float -> float -> int) -> t -> unit

val sort_uniq : (float -> float -> int) -> t -> t
(** [sort_uniq cmp a] is a sorted copy of [a], with the leftmost of equal elements only. *)

(** {1 Groups} *)

val group_by : (float -> 'k) -> t -> ('k * t) array
(** As {!Array.group_by}. *)

val histogram : bins:int -> (float -> int) -> t -> int array
(** As {!Array.histogram}. *)
