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

(** {1 Reductions} *)

val fold : (float -> float -> float) -> float -> t -> float
val fold_parts : init:(unit -> 'b) -> add:('b -> float -> 'b) -> combine:('b -> 'b -> 'b) -> t -> 'b
val map_reduce : combine:('b -> 'b -> 'b) -> init:'b -> (float -> 'b) -> t -> 'b
val reduce : (float -> float -> float) -> t -> float option
val scan : (float -> float -> float) -> t -> t
val min : (float -> float -> int) -> t -> float option
val max : (float -> float -> int) -> t -> float option
val count : (float -> bool) -> t -> int

(** {1 Numbers} *)

val sum : t -> float
val dot : t -> t -> float
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

(** {1 Sorting} *)

val sort : (float -> float -> int) -> t -> unit
val stable_sort : (float -> float -> int) -> t -> unit
val fast_sort : (float -> float -> int) -> t -> unit
val sort_uniq : (float -> float -> int) -> t -> t

(** {1 Groups} *)

val group_by : (float -> 'k) -> t -> ('k * t) array
val histogram : bins:int -> (float -> int) -> t -> int array
