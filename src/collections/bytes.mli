(** The stdlib's [Bytes], of which the functions below run in parallel where it pays: {!Array} for
    characters. What that says in {!Array.shared} and of each function holds here. *)

include module type of struct
  include Stdlib.Bytes
end

(** {1 One result for each character} *)

val init : int -> (int -> char) -> bytes
val map : (char -> char) -> bytes -> bytes
val mapi : (int -> char -> char) -> bytes -> bytes

(** {1 Effects} *)

val iter : (char -> unit) -> bytes -> unit
val iteri : (int -> char -> unit) -> bytes -> unit

(** {1 Searches} *)

val exists : (char -> bool) -> bytes -> bool
val for_all : (char -> bool) -> bytes -> bool
val contains : bytes -> char -> bool
val index : bytes -> char -> int
val index_opt : bytes -> char -> int option
