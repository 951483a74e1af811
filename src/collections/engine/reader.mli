(** Runs a function over a sequence: in place where it is cheap, else in blocks. *)

type 'a consumer = {
  code : int;
  unit : int;  (** stretches and blocks begin at multiples of it *)
  in_place : int -> 'a Seq.t -> int -> 'a Seq.t option;
  block : int -> 'a list -> unit;
}
(** [in_place start s n] consumes [n] elements, and is what comes after them unless that is the end.
    [block start l] consumes a block. [start] is the index of the first element. *)

val run : ?start:int -> 'a consumer -> 'a Seq.t -> unit
(** [start] (default 0) is the index of the first element. *)
