val below : int -> int
(** A random number from 0 to [n - 1]. The program's own [Random] stays as it is. *)
