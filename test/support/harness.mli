(** What every test needs: a guard against hangs, pools of an exact number of domains,
    outside callers, child processes, and measures of time. *)

(** {1 Cases} *)

val case : ?seconds:int -> string -> (unit -> unit) -> unit Alcotest.test_case
(** [case name f] is a test that ends the whole process with a message and code 124 when
    it runs longer than [seconds] (default 60): a hang is a failure, not a silence. *)

val property :
  ?seconds:int ->
  ?count:int ->
  domains:int ->
  string ->
  'a QCheck.arbitrary ->
  (Muster.Pool.t -> 'a -> bool) ->
  unit Alcotest.test_case
(** [property ~domains name arbitrary holds] checks [holds pool x] for [count] (default
    100) random [x], each within [Pool.run] of one pool of exactly [domains]. QCheck prints
    its seed; [QCHECK_SEED] repeats a run. *)

val weighted : (int * 'a QCheck.Gen.t) list -> 'a QCheck.Gen.t
(** One of these generators, as often as its weight says. QCheck's own have names that differ between its releases. *)

val one_of : 'a list -> 'a QCheck.Gen.t

external set_guard : int -> string -> unit = "muster_test_guard"
(** [set_guard seconds message] ends the process with that message when so many seconds
    pass before the next call; 0 for never. *)

(** {1 Pools and callers} *)

val outside :
  ?name:string -> ?domains:int -> ?oversubscribe:bool -> (Muster.Pool.t -> 'a) -> 'a
(** [Pool.with_] whose function runs outside the new pool. *)

val with_domains : int -> (Muster.Pool.t -> 'a) -> 'a
(** {!outside} a pool of exactly that many domains, whatever the machine has. *)

val run_on : int -> (unit -> 'a) -> 'a
(** [run_on n f] runs [f] as a task of a fresh pool of [n] domains. *)

val with_default : int -> (unit -> 'a) -> 'a
(** [with_default n f] runs [f] with a default pool of [n] domains. *)

val in_domain : (unit -> 'a) -> 'a
val in_thread : (unit -> 'a) -> 'a

val in_threads : int -> (int -> 'a) -> 'a list
(** [in_threads n f] runs [f 0 … f (n - 1)] in [n] systhreads of the calling domain, and
    raises the exception of the first of them that raised. *)

external call_through_c : (unit -> 'a) -> 'a = "muster_test_call_through_c"
(** Calls back from C, so that no effect handler outside the call can be reached. *)

val wait_until : (unit -> bool) -> unit
(** Polls once a millisecond; blocks the calling thread and relies on the guard. *)

(** {1 Checks}

    Each may be used in any domain and systhread. *)

val failf : ('a, unit, string, 'b) format4 -> 'a
val check_bool : string -> bool -> bool -> unit
val check_int : string -> int -> int -> unit
val check_equal : string -> 'a -> 'a -> unit
val check_raises : string -> exn -> (unit -> 'a) -> unit
val outcome : (unit -> 'a) -> ('a, exn) result
val contains : string -> sub:string -> bool
val count_substring : string -> sub:string -> int

val check_invalid : mentions:string list -> string -> (unit -> 'a) -> unit
(** [f ()] must raise [Invalid_argument] whose message holds all of [mentions]. *)

val check_raises_with_origin : file:string -> line:int -> string -> (unit -> 'a) -> unit
(** [f ()] must raise, with a backtrace that names [file] and [line]. *)

val each_once : string -> int Atomic.t array -> unit
(** Every counter must be 1. *)

val counters : int -> int Atomic.t array

(** {1 Time} *)

val flipped : bool
(** Whether pools change their numbers of workers at random, all the time (tools/test): then waiting
    costs more, and signals find more domains that are between tasks. *)

val wall_seconds : (unit -> 'a) -> 'a * float

val cpu_seconds : (unit -> 'a) -> 'a * float
(** User and system time of the whole process. *)

val within : float -> (unit -> bool) -> bool
(** Whether it holds within about that many seconds. *)

val burn : float -> unit
(** Computes for about that many seconds, reaching safe points. *)

(** {1 What the process holds} *)

val process_status : string -> int
(** A field of [/proc/self/status], as VmRSS in kB; 0 where there is none. *)

external receive : unit -> unit = "muster_test_receive"
[@@noalloc]
(** The calling thread has SIGUSR1 when this returns; its handler runs at the next look for signals. *)

external trim : unit -> unit = "muster_test_trim"
(** Gives back what [malloc] keeps of memory that is free, where it can be asked to (glibc). *)

val descriptors : unit -> int
(** Files that are open; only where there is [/proc/self/fd]. *)

(** {1 Child processes} *)

module Child : sig
  type t = {
    status : Unix.process_status;
    output : string;
    errors : string;
    seconds : float;
    after_signal : float;  (** from the signal, if one was sent, to the end *)
  }

  val run :
    ?env:(string * string) list -> ?limit:float -> ?interrupt:int -> string -> string list -> t
  (** [run program arguments] runs a program, named from the test's own directory on.
      [interrupt] is sent once the child has written its first line; a child that outlives
      [limit] seconds (default 30) is killed. *)

  val check_success : t -> unit
end

(** {1 Pools in use} *)

val fib : int -> int
(** With a fork at every call. *)

val is_usable : Muster.Pool.t -> unit
(** Checks that tasks run on the pool and that a broadcast reaches every worker. *)

val failure_beside_a_cancellation : run:((unit -> unit) -> unit) -> ((int -> unit) -> unit) -> unit
(** [failure_beside_a_cancellation ~run loop] checks that what the first body of a loop raises is what
    the loop raises, though the body has its task cancelled, so that others are told of that; and that the
    code around the loop is told afterwards. [run] enters a pool; [loop body] calls [body] for indices
    from 0. *)

val shares_what_has_become_long :
  ?cheap:int -> string -> alone:int -> iterations:int -> ((int -> unit) -> unit) -> unit
(** Checks that a loop that has been short 300 times and then, without a pause, is long is shared at once: the first
    [alone] iterations are the caller's, of which the first [cheap] (default 0) cost nothing, and the next one does not end before another worker has begun one. Where {!flipped},
    that one of several loops is: at each of the few places where such a loop is split its caller may be the only
    worker. In a pool of several workers; [loop body] calls [body] for indices from 0. *)

val begin_at_once : string -> workers:int -> ((int -> unit) -> unit) -> unit
(** Checks, ten times, that so many bodies of a loop run at the same time, however it is cut: each waits until all of them
    have begun. [loop body] calls [body] for at least as many indices. *)

val shares_a_long_second_half : string -> ((int -> unit) -> unit) -> unit
(** Checks that of a loop over the indices 0 to 99, of which the first half costs nothing, the other half is shared, whatever
    the first one had the loop expect. In a pool of several workers. *)

val on_pools : int list -> (Muster.Pool.t -> unit) -> unit -> unit
(** Runs the check on a pool of each of these sizes. *)

val on_each_count : (Muster.Pool.t -> unit) -> unit -> unit
(** On pools of 1, 2 and 3. *)
