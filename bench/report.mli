(** The outcomes as tables and as JSON. *)

val tables : Outcome.t list -> Table.t list
(** One table for each experiment: minimum and median of every contender, and how many
    times less the minimum is than the sequential program's and its own on one domain. *)

val bars : quick:bool -> Outcome.t list -> Table.t
(** Every bar, what was got, and whether that passes; with [quick], nothing is judged. *)

val json : facts:(string * string) list -> Outcome.t list -> Yojson.Safe.t
(** Times in nanoseconds; what was not measured is [null]. *)
