(** Fibonacci numbers with a fork at every call: much work for a scheduler, and an answer to check. *)

val by_forks : int -> int
(** By [Muster.both]. *)

val by_tasks : async:((unit -> int) -> 'p) -> await:('p -> int) -> int -> int
(** By one task for each of the two calls. *)
