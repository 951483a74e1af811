(** Results of any length for each element of an array. *)

val collect : int -> int -> (int -> int -> 'a array) -> 'a array
(** [collect code n chunk]: [chunk lo hi] is the results for these indices; they are joined in
    order. *)

(** {2 The elements that a chunk keeps} *)

type 'a buffer

val buffer : unit -> 'a buffer

val keep : 'a buffer -> 'a -> room:int -> unit
(** [room]: the most elements that may follow, this one included. *)

val contents : 'a buffer -> 'a array
