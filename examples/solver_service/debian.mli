(** Package indexes as apt keeps them. *)

type t

val read : string list -> t
(** The packages of these indexes, for the first architecture that they name. All CPUs read.

    {b Raises} [Muster_closure.Index.Unreadable], [Muster_closure.Text.Malformed]. *)

val names : t -> string Seq.t
(** Also those that packages only provide. *)

val candidates : t -> string -> Package.t list
(** All that go by this name. Any domain.

    {b Raises} [Muster_closure.Text.Malformed]. *)
