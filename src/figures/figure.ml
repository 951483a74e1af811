(* The figures of a pool: see Muster. *)

type decision = { seconds_ago : float; what : string; why : string }

type worker = {
  worker : int;
  is_caller : bool;
  ran : int;
  stole : int;
  busy_seconds : float;
  idle_seconds : float;
}

type wait = { call : string; times : int; total_seconds : float }

type stats = {
  seconds : float;
  size : int;
  tasks : int;
  forks : int;
  steals : int;
  parks : int;
  regions : int;
  workers : int;
  each_worker : worker list;
  allowed : int;
  cpus : int;
  cpus_yielded : int;
  minor_heap_words : int list;
  domains_started : int;
  domains_ended : int;
  waits : int;
  waited_seconds : float;
  task_waits : wait list;
  minor_collections : int;
  minor_gc_seconds : float;
  decisions : decision list;
}
