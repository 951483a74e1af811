(** What a recording's spans add up to. *)

type worker = {
  lane : Spans.lane;
  name : string;
  tasks : int;  (** that began here *)
  ran : int;  (** ns in tasks, as all below *)
  code : int;  (** and regions *)
  looking : int;
  parked : int;
  away : int;
  unknown : int;
  minor : int;
  major : int;
  stop : int;
  no_cpu : int;  (** in the system's queue *)
}

type site = { site : int; name : string; count : int; total : int; longest : int }

type flame = { at : string; own : int; all : int; below : flame list }
(** Tasks by the sites of those that handed them out. A site stands only once on a way from the
    root: a recursive task counts where it was first. *)

type bucket = { least : int; most : int; number : int; sum : int }
(** From [least] ns, to less than [most]: 1, 2 and 5 times the powers of ten. *)

type load = { from : int; upto : int; cpus : float; waiting : float; busy : float }
(** Of one stretch of the run. *)

type t = {
  workers : worker list;
  sites : site list;  (** the longest total first *)
  flame : flame list;
  grain : bucket list;
  latency : bucket list;  (** from the fork to the beginning *)
  waits : bucket list;
  queues : bucket list;
  loads : load list;  (** 1,000 at most *)
}

val of_spans : Recording.t -> Spans.t -> t

val histogram : int list -> bucket list
(** Without gaps between the first and the last. *)

val queue_share : Recording.t -> Spans.lane -> (int * int * float) list
(** From when to when that worker waited for a CPU, for which part of the time; as {!load}s. *)
