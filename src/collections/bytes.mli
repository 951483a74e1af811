(** The stdlib's [Bytes], run in parallel where it pays: {!Array} for characters. What that says in
    {!Array.shared} and of each function holds here. *)

include module type of struct
  include Stdlib.Bytes
end

(** {1 One result for each character} *)

val init : int -> (int -> char) -> bytes
val map : (char -> char) -> bytes -> bytes
val mapi : (int -> char -> char) -> bytes -> bytes

val map2 : (char -> char -> char) -> bytes -> bytes -> bytes
(** {b Raises} [Invalid_argument] if the lengths differ. *)

val map_to_array : (char -> 'a) -> bytes -> 'a array

(** {1 Effects} *)

val iter : (char -> unit) -> bytes -> unit
val iteri : (int -> char -> unit) -> bytes -> unit

(** {1 Reductions}

    For associative operations. *)

val fold : (char -> char -> char) -> char -> bytes -> char
(** [fold op init b] is [fold_left op init b] for an associative [op]. *)

val reduce : (char -> char -> char) -> bytes -> char option
(** [None] if there are no characters. *)

val scan : (char -> char -> char) -> bytes -> bytes
(** The inclusive prefixes. *)

val min : (char -> char -> int) -> bytes -> char option
(** The least character; [None] if there is none. *)

val max : (char -> char -> int) -> bytes -> char option
(** The greatest character; [None] if there is none. *)

val count : (char -> bool) -> bytes -> int
(** How many characters satisfy the predicate. *)

(** {1 Searches} *)

val exists : (char -> bool) -> bytes -> bool
val for_all : (char -> bool) -> bytes -> bool

val mem : char -> bytes -> bool
(** [mem c b] is [contains b c]. *)

val contains : bytes -> char -> bool
val index : bytes -> char -> int
val index_opt : bytes -> char -> int option
val find_opt : (char -> bool) -> bytes -> char option
val find_index : (char -> bool) -> bytes -> int option

(** {1 Some of the characters} *)

val filter : (char -> bool) -> bytes -> bytes
val partition : (char -> bool) -> bytes -> bytes * bytes
val filter_map : (char -> char option) -> bytes -> bytes
val concat_map : (char -> bytes) -> bytes -> bytes

(** {1 Sorting}

    In place, and stable. {b Cost}: an array of as many characters. *)

val sort : (char -> char -> int) -> bytes -> unit
val stable_sort : (char -> char -> int) -> bytes -> unit

val sort_uniq : (char -> char -> int) -> bytes -> bytes
(** A sorted copy that has of equal characters the leftmost alone. *)

(** {1 Groups} *)

val group_by : (char -> 'k) -> bytes -> ('k * bytes) array
(** As {!Array.group_by}. *)

val histogram : bins:int -> (char -> int) -> bytes -> int array
(** As {!Array.histogram}. *)
