(** The stdlib's [Bigarray], with an {!Array1} that runs in parallel where it pays. *)

include module type of struct
  include Stdlib.Bigarray
end

(** {!Array} for bigarrays of one dimension: what that says in {!Array.shared} and of each function
    holds here. Arrays that an operation makes have kind and layout of its argument; indices are
    the layout's, from 1 in [fortran_layout].

    {b Cost}: an access takes some nanoseconds, for it goes through a function that the kind
    determines; of complex numbers it is a call of C. *)
module Array1 : sig
  include module type of struct
    include Stdlib.Bigarray.Array1
  end

  (** {1 One result for each element} *)

  val init : ('a, 'b) kind -> 'c layout -> int -> (int -> 'a) -> ('a, 'b, 'c) t
  val of_array : ('a, 'b) kind -> 'c layout -> 'a array -> ('a, 'b, 'c) t
  val map : ('a -> 'a) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t

  val map_to : ('d, 'e) kind -> ('a -> 'd) -> ('a, 'b, 'c) t -> ('d, 'e, 'c) t
  (** [map] to another kind. *)

  val mapi : (int -> 'a -> 'a) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t

  val map2 : ('a -> 'd -> 'a) -> ('a, 'b, 'c) t -> ('d, 'e, 'f) t -> ('a, 'b, 'c) t
  (** The result has kind and layout of the first array.

      {b Raises} [Invalid_argument] if the dimensions differ. *)

  val map_inplace : ('a -> 'a) -> ('a, 'b, 'c) t -> unit
  val map_to_array : ('a -> 'd) -> ('a, 'b, 'c) t -> 'd array

  (** {1 Effects} *)

  val iter : ('a -> unit) -> ('a, 'b, 'c) t -> unit
  val iteri : (int -> 'a -> unit) -> ('a, 'b, 'c) t -> unit

  (** {1 Reductions}

      For associative operations. *)

  val fold : ('a -> 'a -> 'a) -> 'a -> ('a, 'b, 'c) t -> 'a
  (** [fold op init a] is all elements combined, from left to right, with [init] as the leftmost operand, once; [init]
      for none. *)

  val reduce : ('a -> 'a -> 'a) -> ('a, 'b, 'c) t -> 'a option
  (** [None] if there are no elements. *)

  val scan : ('a -> 'a -> 'a) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t
  (** The inclusive prefixes. *)

  val min : ('a -> 'a -> int) -> ('a, 'b, 'c) t -> 'a option
  (** The least element, of equal ones the leftmost; [None] if there is none. *)

  val max : ('a -> 'a -> int) -> ('a, 'b, 'c) t -> 'a option
  (** The greatest element, of equal ones the leftmost; [None] if there is none. *)

  val count : ('a -> bool) -> ('a, 'b, 'c) t -> int
  (** How many elements satisfy the predicate. *)

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

  (** {1 Sorting}

      In place, and stable. {b Cost}: an array of as many elements. *)

  val sort : ('a -> 'a -> int) -> ('a, 'b, 'c) t -> unit
  val stable_sort : ('a -> 'a -> int) -> ('a, 'b, 'c) t -> unit

  val sort_uniq : ('a -> 'a -> int) -> ('a, 'b, 'c) t -> ('a, 'b, 'c) t
  (** A sorted copy that has of equal elements the leftmost alone. *)

  (** {1 Groups} *)

  val group_by : ('a -> 'k) -> ('a, 'b, 'c) t -> ('k * ('a, 'b, 'c) t) array
  (** As {!Array.group_by}. *)

  val histogram : bins:int -> ('a -> int) -> ('a, 'b, 'c) t -> int array
  (** As {!Array.histogram}. *)
end
