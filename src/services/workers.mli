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

type times = Histogram.shot = {
  counts : int array;
  count : int;
  seconds : float;
}

val quantile : float -> times -> float

type stats = {
  workers : int;
  busy : int;
  queued : int;
  returned : int;
  failed : int;
  cancelled : int;
  expired : int;
  full : int;
  draining : int;
  queue_time : times;
  work_time : times;
}

val stats : 'w t -> stats

val pp_prometheus : Format.formatter -> 'w t -> unit
