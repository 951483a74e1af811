(** A program of two forms. *)

val main : ranks:(unit -> string) -> local:(unit -> string) -> unit
(** Prints the answer of [ranks ()], run by all ranks; with [--local], of [local ()]. *)
