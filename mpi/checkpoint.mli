(** A file of finished jobs. What a crash has left behind the last record that is whole is dropped. *)

type 'b t

val open_ : string -> key:string -> (int -> 'b -> unit) -> 'b t
(** [open_ path ~key f] calls [f] for each record, and appends to the file from now on. [key] tells
    which jobs they are.

    Raises [Invalid_argument] if the file is one of other jobs, or none of this kind. *)

val add : 'b t -> int -> 'b -> unit
val close : 'b t -> unit
