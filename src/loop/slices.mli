(** A range of indices, cut into as many slices as there are workers. *)

val slice : int -> int -> int -> int * int
(** [slice n size worker]: the first index and the length of that worker's slice of [n] indices. The
    first [n mod size] slices have one more. *)

(** {2 Slices that are shared out} *)

type t

val create : from:int -> n:int -> size:int -> unit:int -> t
(** The indices [from] to [n - 1], for [size] workers, taken in units of [unit] indices. *)

val take : t -> int -> int * int
(** [take t worker] takes half of the rest of the worker's slice, or of another's: the first index
    and their number, 0 if nothing remains. *)
