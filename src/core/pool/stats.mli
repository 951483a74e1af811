(** The figures of [Pool.stats]. *)

include module type of struct
  include Figures
end

val stats : Place.pool -> stats
