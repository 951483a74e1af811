(** The quiet bars of the pool against those of an earlier version. *)

val rows : situation:string -> repeat:int -> before:string -> Row.t list
(** [rows ~before] runs the program of [bench/] and [before], which is the same program
    built from the earlier version, in turn: a row for each figure of Muster's.

    {b Raises} [Failure] if one of them fails. *)
