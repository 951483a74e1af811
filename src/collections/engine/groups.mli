(** Elements by key, and the number of each. *)

val by : 'k array -> (int array -> 'g) -> ('k * 'g) array
(** [by keys gather]: each key, in order of first occurrence, with the result of [gather] for the
    indices of its elements. *)

(** {2 Histograms} *)

type tables
(** Tables of counts, one for each chunk that runs at the same time. *)

val tables : string -> bins:int -> tables
(** Of the module of that name, for errors. *)

val with_table : tables -> (int array -> 'a -> 'b) -> 'a -> 'b
(** [with_table t count x] is [count table x], which may write [table]. *)

val add : tables -> int array -> int -> unit
(** Counts one in a bin of a table. *)

val total : tables -> int array
