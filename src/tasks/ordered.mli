(** Results in the order of their elements. [Muster.Task.with_map] says what it does. *)

val with_map : ?max:int -> window:int -> ('a -> 'b) -> 'a Seq.t -> ('b Seq.t -> 'c) -> 'c
