(** An event for which code waits. *)

type t = {
  call : string;  (** that waits for it, as users write it: ["Mutex.lock"] *)
  about : unit -> string;  (** more, for the report of a program that hangs *)
}

val make : string -> t
