(** The contenders' pools: new for every run, up and warm before the clock starts, and
    gone before the next contender's turn, so that nobody pays for another's domains. *)

val muster : ?oversubscribe:bool -> domains:int -> (Muster.Pool.t -> 'a) -> 'a
(** [muster ~domains f] is [f pool] as a task of a new pool. *)

val muster_outside : domains:int -> (Muster.Pool.t -> 'a) -> 'a
(** [muster_outside ~domains f] is [f pool], called by a domain outside the pool. *)

val contenders :
  domains:int ->
  muster:(Muster.Pool.t -> float) ->
  domainslib:(Rival.pool -> float) ->
  Experiment.contender list
(** Muster, and Domainslib where it is installed, on [domains] domains. *)
