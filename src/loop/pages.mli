(** Long result arrays, whose memory all workers touch first. *)

val make : int -> 'a -> 'a array
(** [make n v], for elements that are all set before anybody reads them. *)
