(** Many short races. A data race shows only where two accesses meet with nothing between them that
    orders them, so: the parties start together, do little, and do it often; and they allocate
    little, as each minor collection is a barrier for all domains. *)

type case

val case : ?limit:int -> string -> (unit -> unit) -> case
(** [MUSTER_LEAST_ROUNDS] asks this case for no more than [limit] rounds, since each takes long. *)

val main : case list -> unit
(** The program: runs the cases in turn, says of each how many rounds it had, ends with
    [N passed, N failed] and fails if one failed. Arguments select cases by the first word of
    their names. A case that runs for more than 240 seconds ends the program (SIGALRM); two
    hours, where [MUSTER_LEAST_ROUNDS] is set. *)

val insist_on : int -> unit
(** Has pools that do not insist on their domains have so many anyway, whatever the machine has and
    does: runs the program anew, if it was not so begun. To be called first. *)

val times : int -> int
(** That many, times the environment variable [MUSTER_ROUNDS] (default 1), but not fewer than
    [MUSTER_LEAST_ROUNDS] (default 1) or the case's limit, if that is lower. *)

val race : ?before:(int -> unit) -> ?after:(int -> unit) -> int -> (int -> unit) list -> unit
(** [race n parties] runs [times n] rounds. In each one every party runs once, on a domain of its
    own, all starting together. [before] and [after] each round, the calling domain, which is the
    first party's, calls these. Each is given the round's number.

    {b Raises} the first exception of a party, when all have ended.
    {b Order}: [before], the parties, [after]. *)

val race_exactly :
  ?before:(int -> unit) -> ?after:(int -> unit) -> int -> (int -> unit) list -> unit
(** [race] of that many rounds, whatever the environment says. *)

val repeat : ?group:int -> int -> (int -> unit) -> unit
(** [repeat n f] is [f 0], … [f (times n - 1)], where [f] does its own racing. If one call of [f] is
    [group] rounds, there are as many fewer calls. *)

val with_pool : int -> (Muster.Pool.t -> unit) -> unit -> unit
(** [with_pool domains f] is a case: [f] outside a pool of so many workers, whatever the machine
    has. *)

val in_task : ?group:int -> int -> int -> (int -> unit) -> unit -> unit
(** [in_task domains n f] is a case: [repeat n f] as one task of such a pool, so that most forks find
    the worker at work. *)

val pauses : int -> unit
(** So many of the processor's pauses. *)

val loiter : int -> unit
(** Pauses, in some rounds so many that a thief comes. *)

val check : string -> bool -> unit
(** {b Raises} [Failure] if it is false. *)

val relax_until : ?turns:int -> (unit -> bool) -> unit
(** Looks again and again, with pauses and then yields; not for ever, if given [turns]. *)
