(** Prefixes of arrays, for collections. *)

val prefixes :
  int ->
  int ->
  total:(('a -> 'a -> 'a) -> int -> int -> 'a) ->
  scan:(('a -> 'a -> 'a) -> 'a option -> int -> int -> unit) ->
  ('a -> 'a -> 'a) ->
  unit
(** [prefixes code n ~total ~scan op], of [n] elements: [total op lo hi] reduces these,
    [scan op carry lo hi] puts their prefixes into the result. *)
