(** Arrays of results. *)

val put : 'a array -> int -> 'a -> unit
(** Sets an element of an array from here that nobody else has seen. *)

val make : int -> 'a -> 'a array
(** [make n v], for elements that are all set before anybody reads them; all workers touch the
    memory of a long one first. *)

val build :
  int ->
  int ->
  ('f -> 's -> int -> 'a) ->
  ('f -> 's -> 'a array -> int -> int -> unit) ->
  'f ->
  's ->
  'a array
(** [build code n one chunk f s], of [n] elements: [one f s i] is that of index [i], and
    [chunk f s a lo hi] puts those of [lo] to [hi] into [a]. [code] is the user's function's. *)
