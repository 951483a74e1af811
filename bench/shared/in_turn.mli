(** The sequential twins of programs that fork. *)

val both : (unit -> 'a) -> (unit -> 'b) -> 'a * 'b
(** [both f g] is [let a = f () in let b = g () in (a, b)]. *)

val fib : int -> int
(** Fibonacci with such a call at every step. *)
