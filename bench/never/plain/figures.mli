(** What a child process tells its parent: named lists of numbers, one to a line. *)

type t = (string * float list) list

val print : t -> unit
(** [print figures] writes them to [stdout]. *)

val parse : string -> t option
(** [parse text] is what {!print} wrote. *)
