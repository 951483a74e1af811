(** One call for each element, at most so many at a time. Muster.Task says what each does. *)

val map : max:int -> ('a -> 'b) -> 'a list -> 'b list
val iter : max:int -> ('a -> unit) -> 'a list -> unit
val iter_seq : max:int -> ('a -> unit) -> 'a Seq.t -> unit
val with_map : ?max:int -> window:int -> ('a -> 'b) -> 'a Seq.t -> ('b Seq.t -> 'c) -> 'c
