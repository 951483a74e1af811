(** {!Array} for bigarrays of one dimension. The rules of {!Array.shared} and the descriptions of
    {!Array}'s functions hold here too. Arrays that an operation makes have the kind and layout of
    its argument. Indices are the layout's, from 1 in [fortran_layout].

    {b Cost}: an access takes some nanoseconds, since it goes through a function for the kind. *)

include module type of struct
  include Stdlib.Bigarray.Array1
end

(** {1 One result for each element} *)

val init :
  ('a, 'b) Stdlib.Bigarray.kind -> 'c Stdlib.Bigarray.layout -> int -> (int -> 'a) -> ('a, 'b, 'c) t

val of_array :
  ('a, 'b) Stdlib.Bigarray.kind -> 'c Stdlib.Bigarray.layout -> 'a array -> ('a, 'b, 'c) t

val map : ('a -> 'a) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t

val map_to : ('d, 'e) Stdlib.Bigarray.kind -> ('a -> 'd) -> ('a, 'b, 'c) t -> ('d, 'e, 'c) t
(** [map_to kind f a] is [map f a] as an array of another kind. *)

val mapi : (int -> 'a -> 'a) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t
val map_init : init:(unit -> 's) -> ('s -> 'a -> 'a) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t

val map2 : ('a -> 'd -> 'a) -> ('a, 'b, 'c) t -> ('d, 'e, 'f) t -> ('a, 'b, 'c) t
(** [map2 f a b] has the kind and layout of [a].

    {b Raises} [Invalid_argument] if the dimensions differ. *)

val map_inplace : ('a -> 'a) -> ('a, 'b, 'c) t -> unit
val map_to_array : ('a -> 'd) -> ('a, 'b, 'c) t -> 'd array

(** {1 Effects} *)

val iter : ('a -> unit) -> ('a, 'b, 'c) t -> unit
val iteri : (int -> 'a -> unit) -> ('a, 'b, 'c) t -> unit

(** {1 Reductions} *)

val fold : ('a -> 'a -> 'a) -> 'a -> ('a, 'b, 'c) t -> 'a

val fold_parts :
  init:(unit -> 'd) -> add:('d -> 'a -> 'd) -> combine:('d -> 'd -> 'd) -> ('a, 'b, 'c) t -> 'd

val map_reduce : combine:('d -> 'd -> 'd) -> init:'d -> ('a -> 'd) -> ('a, 'b, 'c) t -> 'd
val reduce : ('a -> 'a -> 'a) -> ('a, 'b, 'c) t -> 'a option
val scan : ('a -> 'a -> 'a) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t
val min : ('a -> 'a -> int) -> ('a, 'b, 'c) t -> 'a option
val max : ('a -> 'a -> int) -> ('a, 'b, 'c) t -> 'a option
val count : ('a -> bool) -> ('a, 'b, 'c) t -> int

(** {1 Numbers}

    As those of {!Array}, for arrays of the kinds [Float64], [Float32] and [Int], of either layout.
    Floats of 32 bits are summed as floats of 64 bits, and their products are exact. Ints wrap
    around; their [mean] is that of floats, and does not.

    [Bigarray.reshape_1] makes an array of one dimension of any other, without a copy.

    {b Raises} [Invalid_argument] for another kind. *)

val sum : ('a, 'b, 'c) t -> 'a

val dot : ('a, 'b, 'c) t -> ('a, 'b, 'd) t -> 'a
(** {b Raises} [Invalid_argument] if the dimensions differ, or for another kind. *)

val mean : ('a, 'b, 'c) t -> float option
val min_max : ('a, 'b, 'c) t -> ('a * 'a) option

(** {1 Searches} *)

val exists : ('a -> bool) -> ('a, 'b, 'c) t -> bool
val for_all : ('a -> bool) -> ('a, 'b, 'c) t -> bool
val mem : 'a -> ('a, 'b, 'c) t -> bool
val find_opt : ('a -> bool) -> ('a, 'b, 'c) t -> 'a option
val find_index : ('a -> bool) -> ('a, 'b, 'c) t -> int option
val find_map : ('a -> 'd option) -> ('a, 'b, 'c) t -> 'd option
val find_mapi : (int -> 'a -> 'd option) -> ('a, 'b, 'c) t -> 'd option

(** {1 Some of the elements} *)

val filter : ('a -> bool) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t
val partition : ('a -> bool) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t * ('a, 'b, 'c) t
val filter_map : ('a -> 'a option) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t
val concat_map : ('a -> ('a, 'b, 'c) t) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t

(** {1 Sorting} *)

val sort : ('a -> 'a -> int) -> ('a, 'b, 'c) t -> unit
val stable_sort : ('a -> 'a -> int) -> ('a, 'b, 'c) t -> unit
val sort_uniq : ('a -> 'a -> int) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t

(** {1 Groups} *)

val group_by : ('a -> 'k) -> ('a, 'b, 'c) t -> ('k * ('a, 'b, 'c) t) array
val histogram : bins:int -> ('a -> int) -> ('a, 'b, 'c) t -> int array
