(** The loops of single indices, and the parts of them that other loops use. *)

val parallel_for : ?grain:int -> start:int -> finish:int -> (int -> unit) -> unit

val parallel_for_init :
  ?grain:int -> start:int -> finish:int -> init:(unit -> 's) -> ('s -> int -> unit) -> unit

val parallel_for2 :
  ?grain:int -> start:int * int -> finish:int * int -> (int -> int -> unit) -> unit

val parallel_find : ?grain:int -> start:int -> finish:int -> (int -> 'a option) -> 'a option

(** {2 For other loops} *)

val pairs : (int -> int -> unit) -> int * int -> int -> int -> int -> 'a option
(** [pairs f (top, left) width lo hi] calls [f] for the pairs with the numbers [lo] to [hi]. They
    are numbered row by row, from [(top, left)] on; a row has [width]. The result is [None]. *)

val check_grain : string -> int option -> unit

val sweep : ?grain:int -> ?tried:int -> int -> int -> int -> (int -> int -> 'a option) -> 'a option
(** [sweep code lo hi body] is what [body] finds in the leftmost chunk; it takes the bounds of one.
    The range is shared before it begins if its first [tried] iterations are worth it. *)

val search : ?grain:int -> int -> int -> int -> (int -> int -> 'a option) -> 'a option
(** The same of a range whose first iterations may be enough. *)
