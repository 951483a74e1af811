(** Workers with values, for the jobs of a service. Muster.Workers says what each call does. *)

type 'w t

type reason =
  | Full
  | Expired
  | Draining

exception Rejected of reason

val create :
  ?name:string ->
  ?workers:int ->
  ?queue:int ->
  ?pool:Muster_core.Pool.t ->
  ?close:('w -> unit) ->
  ?reset:('w -> 'w) ->
  (int -> 'w) ->
  'w t

val submit : ?priority:int -> ?deadline:float -> 'w t -> ('w -> 'a) -> 'a

val post : ?priority:int -> ?deadline:float -> 'w t -> ('w -> 'a) -> 'a Muster_core.Task.t

val drain : ?grace:float -> 'w t -> unit

include module type of struct
  include Job_stats
end

val quantile : float -> times -> float
val stats : 'w t -> stats
val pp_prometheus : Format.formatter -> 'w t -> unit

type any = Any : 'w t -> any

val pp_prometheus_all : Format.formatter -> any list -> unit
