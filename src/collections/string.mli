(** The stdlib's [String], run in parallel where it pays: {!Array} for characters. What that says in
    {!Array.shared} and of each function holds here. A string cannot be sorted in place: [Bytes] has
    [sort]. *)

include module type of struct
  include Stdlib.String
end

(** {1 One result for each character} *)

val init : int -> (int -> char) -> string
val map : (char -> char) -> string -> string
val mapi : (int -> char -> char) -> string -> string

val map2 : (char -> char -> char) -> string -> string -> string
(** {b Raises} [Invalid_argument] if the lengths differ. *)

val map_to_array : (char -> 'a) -> string -> 'a array

(** {1 Effects} *)

val iter : (char -> unit) -> string -> unit
val iteri : (int -> char -> unit) -> string -> unit

(** {1 Reductions}

    For associative operations. *)

val fold : (char -> char -> char) -> char -> string -> char
(** [fold op init s] is [fold_left op init s] for an associative [op]. *)

val reduce : (char -> char -> char) -> string -> char option
(** [None] if there are no characters. *)

val scan : (char -> char -> char) -> string -> string
(** The inclusive prefixes. *)

val min : (char -> char -> int) -> string -> char option
(** The least character; [None] if there is none. *)

val max : (char -> char -> int) -> string -> char option
(** The greatest character; [None] if there is none. *)

val count : (char -> bool) -> string -> int
(** How many characters satisfy the predicate. *)

(** {1 Searches} *)

val exists : (char -> bool) -> string -> bool
val for_all : (char -> bool) -> string -> bool

val mem : char -> string -> bool
(** [mem c s] is [contains s c]. *)

val contains : string -> char -> bool
val index : string -> char -> int
val index_opt : string -> char -> int option
val find_opt : (char -> bool) -> string -> char option
val find_index : (char -> bool) -> string -> int option

(** {1 Some of the characters} *)

val filter : (char -> bool) -> string -> string
val partition : (char -> bool) -> string -> string * string
val filter_map : (char -> char option) -> string -> string
val concat_map : (char -> string) -> string -> string

(** {1 Sorting and groups} *)

val sort_uniq : (char -> char -> int) -> string -> string
(** A sorted copy that has of equal characters the leftmost alone. *)

val group_by : (char -> 'k) -> string -> ('k * string) array
(** As {!Array.group_by}. *)

val histogram : bins:int -> (char -> int) -> string -> int array
(** As {!Array.histogram}. *)
