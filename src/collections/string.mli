(** The stdlib's [String], with the functions below run in parallel where it pays. The rules of
    {!Array.shared} and the descriptions of {!Array}'s functions hold here too. *)

include module type of struct
  include Stdlib.String
end

(** {1 One result for each character} *)

val init : int -> (int -> char) -> string
val map : (char -> char) -> string -> string
val mapi : (int -> char -> char) -> string -> string

(** {1 Effects} *)

val iter : (char -> unit) -> string -> unit
val iteri : (int -> char -> unit) -> string -> unit

(** {1 Searches} *)

val exists : (char -> bool) -> string -> bool
val for_all : (char -> bool) -> string -> bool
val contains : string -> char -> bool
val index : string -> char -> int
val index_opt : string -> char -> int option
