(** The scheduler's view of the machine, beyond the stdlib's. A number that the system does not tell
    is -1. *)

val thread_id : unit -> int
(** The calling thread's number, above 0, which no other has or had. 2 ns. *)

val yield : unit -> unit
(** Lets another thread of the machine have this CPU, but not this domain: for loops that poll. *)

val yield_domain : unit -> unit
(** Lets another thread of this domain run. *)

val code_of : _ -> int
(** A closure's code as a key, the same for all closures made by one expression. A hint: partial
    applications share theirs. *)

(** {2 Clocks, in ns}

    To read the CPU time of the calling thread, or of the process, takes 0.6 to 0.8 us. *)

val now : unit -> int
val thread_cpu : unit -> int
val process_cpu : unit -> int

external ticks : unit -> (int[@untagged]) = "muster_ticks" "muster_ticks_untagged"
[@@noalloc]
(** A clock for short spans, a few nanoseconds to read. *)

val ticks_of_us : int -> int
(** How many {!ticks} that many microseconds have, at least 1. *)

val seconds_of_ticks : int -> float

(** {2 Patience}

    How often a fiber looks before it waits (Place.soon), about 1 us; and how often a searching
    worker with a CPU to itself pauses before it yields. Models have 0 for both. *)

val join_turns : int
val search_pauses : int

(** {2 The system} *)

val run_queue_wait : unit -> int
(** How long the calling thread has waited for a CPU so far, in ns (Linux only). 6 us. *)

val runnable : unit -> int
(** Threads of the machine that run or could, the caller's too (Linux only). 5 us. *)

val online_cpus : unit -> int
(** CPUs of the machine. *)

val runtime_limit : unit -> int
(** Domains that OCaml can have at once: 128, or [d=] of [OCAMLRUNPARAM] from OCaml 5.3 on. *)

val address_space : unit -> int
(** Bytes of address space that the process may still ask for, if there is a bound. 10 us. *)

(** {2 The calling domain and the collector}

    The first two are those of [Printexc], at the cost of a load where nothing changes. *)

val backtrace_status : unit -> bool
val record_backtrace : bool -> unit

val collections : unit -> int
(** Minor collections of the program so far; all domains share each. *)

val look_up_every : int -> int -> unit
(** [look_up_every index ticks] has the collector remind the worker that domain-local storage keeps
    at [index], if that is not -1, of looking up: at a minor collection [ticks] or more after the
    last reminder the worker's first word becomes 0 and the atomic in its second 1. At every
    collection but the worker's first, the atomic in its third word grows by 1. That in its fourth
    grows by the {!ticks} of the domain's own part, without the runtime's barriers. *)

val called_up_at : unit -> int
(** When its worker was reminded last, in ticks; 0: never. *)

val set_minor_heap : words:int -> unit
(** Sets its minor heap alone, by a minor collection. Ends the program where there is no memory. *)

val free_stacks : keep:int -> unit
(** Frees the stacks that it keeps for fibers to come, but for [keep] of each size: OCaml before 5.5
    keeps any number, and loses them when the domain ends. *)

val stack_id : unit -> int
(** That of the outermost effect handler's stack below the calling code, above 0, which no other has
    or had; 0 outside of all handlers. Where C has called back, it may be an inner one's. 3 ns. *)

val at_domain_end : (unit -> unit) -> unit -> unit
(** [at_domain_end f] has [f] called, once, when the domain that calls it ends, or calls [exit]. *)

val domain_must_stay : unit -> bool
(** Whether it owns weak pointers, ephemerons or finalised values, which its end would harm, or
    other threads, for which its end would wait. *)

(** {2 Signals of the calling thread}

    It leaves all to other threads, or takes the usual ones. These are the ones that it takes at the
    first [note_signals]. *)

val block_signals : unit -> unit
val usual_signals : unit -> unit
val note_signals : unit -> unit

val pass_interrupt_on : unit -> bool
(** Sends the process the interrupt (Ctrl-C) that struck here once more, for other threads, and
    blocks all signals here. False, and nothing is done, where there is no handler for it. *)

(** {2 Domains and threads} *)

val spawn : ?noted:(unit Domain.t -> unit) -> (unit -> unit) -> unit Domain.t
(** [Domain.spawn], which draws no number of the program's [Random]. The domain begins with all
    signals blocked, as a handler would strike before it has set up its storage. The caller takes
    none until [noted] has returned. *)

val start_thread : (unit -> unit) -> bool
(** Calls the function in a new thread of the program's first domain, whichever the caller's is. The
    thread takes no signals. False if the system has no thread. 30 us. *)

(** A place for one thread to sleep, with one wake-up token at most: a wake before the sleep is not
    lost. *)
module Sleeper : sig
  type t

  val create : unit -> t

  val sleep : t -> int -> bool
  (** [sleep s ms] returns once there is a token, which it consumes, or after [ms] milliseconds
      (negative: never), and says which. Signals are handled after it. The domain is free for its
      other threads meanwhile. *)

  val doze : t -> int -> bool
  (** The same for a thread that has nothing to do: other threads get the signals. *)

  val wake : t -> unit
  (** From any thread. 10 to 16 us where one sleeps. *)
end

val sleep_ms : int -> unit

val on_quit : (unit -> unit) -> unit
(** [on_quit f] has SIGQUIT call [f], by a thread of its own in the first domain, and then end the
    process. Nothing is done where the program has a handler. *)

val shows_calls : bool
(** Whether ThreadSanitizer watches this program. *)

val below_calls : Printexc.raw_backtrace -> ('a -> unit) -> 'a -> unit
(** [below_calls backtrace f x] is [f x]; meanwhile ThreadSanitizer has it called by the calls of
    that backtrace, below [muster_task_forked_by]. No fiber that contains this call may be
    suspended: the sanitizer would lose count of the calls. *)

(** Values that tell when they were collected: put one into the value in question. Neither weak
    pointers nor [Gc.finalise_last] will do: OCaml 5.4.1 loses count of both when domains end. *)
module Canary : sig
  type t

  val create : int -> t
  (** With a number from 0. *)

  val next_death : unit -> int
  (** The number of a canary that has died since the last call, or -1. Each is told once. *)
end
