(** Elements by key, and the number of each. *)

val indices : 'k array -> ('k * int array) array
(** The keys of elements with the indices of these, in order of first occurrence. *)

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

val histogram :
  string -> bins:int -> int -> int -> (tables -> int array -> int -> int -> unit) -> int array
(** [histogram name ~bins code n count]: [count t table lo hi] adds the bins of these indices to
    [table]. *)
