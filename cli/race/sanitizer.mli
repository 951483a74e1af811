(** ThreadSanitizer's reports, as it writes them. *)

type frame = {
  name : string;  (** of the function, as the linker has it; or [<null>] *)
  place : (string * int) option;  (** its file, and the line *)
}

type access = {
  what : string;  (** ["read"], ["atomic write"], … *)
  thread : string;  (** ["main thread"], ["T1"], … *)
  frames : frame list;  (** the last call first; none where they were lost *)
}

type report = {
  kind : string;  (** ["data race"], … *)
  accesses : access list;
  created : (string * frame list) list;  (** threads, and the calls that created them *)
}

val read : In_channel.t -> report:(report -> unit) -> other:(string -> unit) -> unit
(** Reads to the end, and hands on each report, and each line that is no part of one. *)

val is_ocaml : frame -> bool

val module_of : frame -> string
(** Of a function of OCaml: its module, as in [Stdlib__Hashtbl]. *)

val called : frame -> string
(** The function as its program has it: [Hashtbl.replace], [a function of Main]. *)

val shown_module : string -> string
(** [shown_module "Stdlib__Hashtbl"] is ["Hashtbl"]. *)
