(** The figures of {!Pool.stats}. *)

type decision = { seconds_ago : float; what : string; why : string }

type stats = {
  size : int;
  tasks : int;
  forks : int;
  steals : int;
  parks : int;
  regions : int;
  workers : int;
  allowed : int;
  cpus : int;
  cpus_yielded : int;
  minor_heap_words : int list;
  domains_started : int;
  domains_ended : int;
  waits : int;
  waited_seconds : float;
  minor_collections : int;
  minor_gc_seconds : float;
  decisions : decision list;
}

val stats : Place.pool -> stats
