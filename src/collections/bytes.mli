(** The stdlib's [Bytes], with the functions below run in parallel where it pays. The rules of
    {!Array.shared} and the descriptions of {!Array}'s functions hold here too. *)

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
