(** The figures of a pool: see Muster. *)

include module type of struct
  include Figure
end

val is_used : stats -> bool
(** Whether the pool has done anything. *)

val diff : since:stats -> stats -> stats
val pp_stats : Format.formatter -> stats -> unit
