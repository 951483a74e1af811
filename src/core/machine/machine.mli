(** All that the scheduler needs of the machine and the stdlib does not offer. *)

val thread_id : unit -> int
(** The calling system thread, as a number above 0 that no other thread has or had. About 2 ns. *)

val code_of : ('a -> 'b) -> int
(** A key for a closure's code: equal for all closures made by one expression. A hint:
    partial applications share theirs. *)

val code_of_team : (worker:int -> 'a) -> int
(** The same of a function that is told its worker. *)

val yield : unit -> unit
(** Lets another thread of the machine run, if one is waiting for this CPU. Keeps the domain:
    call it only in a loop that polls. *)

external ticks : unit -> (int[@untagged]) = "muster_ticks" "muster_ticks_untagged"
[@@noalloc]
(** A clock for short spans, a few nanoseconds to read. See {!ticks_of_us}. *)

val ticks_of_us : int -> int
(** How many {!ticks} that many microseconds have, at least 1. *)

val seconds_of_ticks : int -> float

val join_turns : int
(** How often a join looks whether the other branch has ended before it waits: about 1 us. The model
    checker replaces it by 0. *)

val search_pauses : int
(** So often a worker that searches pauses before it yields, where it has a CPU to itself. The same
    is true of it. *)

val backtrace_status : unit -> bool
(** [Printexc.backtrace_status] of the calling domain, without the cost of a full call. *)

val record_backtrace : bool -> unit
(** [Printexc.record_backtrace], at no cost where it is so already. *)

(** {2 What the machine does with our threads} *)

val now : unit -> int
(** Monotonic time in ns. *)

val thread_cpu : unit -> int
(** CPU time of the calling thread in ns, -1 where it is unknown. 0.6 us. *)

val process_cpu : unit -> int
(** CPU time of the process in ns, -1 where it is unknown. 0.8 us with one thread. *)

val collections : unit -> int
(** Minor collections of the program so far; all domains share each. *)

val run_queue_wait : unit -> int
(** How long the calling thread has waited for a CPU in its life, in ns; -1 where it is unknown
    (other systems than Linux). 6 us. *)

val runnable : unit -> int
(** Threads of the whole machine that run or could, the caller's included; -1 where it is
    unknown. 5 us. *)

val online_cpus : unit -> int
(** CPUs of the machine, -1 where it is unknown. *)

val address_space : unit -> int
(** Bytes of address space that the process may still ask for, -1 if no bound is set or known. 10 us
    where one is set. *)

val pass_interrupt_on : unit -> bool
(** Sends the process the interrupt (Ctrl-C) that this thread has received once more, for other
    threads: this one takes no more signals. False where there is no handler for it. *)

val hold_signals : unit -> unit
(** The calling thread takes none until {!release_signals}; its children inherit that. *)

val release_signals : unit -> unit

val block_signals : unit -> unit
(** Leaves all signals to other threads from now on. *)

val note_signals : unit -> unit
(** The calling thread's signals are the usual ones, if this is the first call. *)

val usual_signals : unit -> unit
(** Takes the usual signals, whatever the thread inherited. *)

val spawn : ?noted:(unit Domain.t -> unit) -> (unit -> unit) -> unit Domain.t
(** [Domain.spawn] with all signals blocked in the new domain, until it asks for the usual ones: a
    handler would strike before the domain has set up its storage. The caller takes none until
    [noted] was called with the domain. *)

val start_thread : (unit -> unit) -> bool
(** Calls the function in a new thread of the program's first domain, whichever domain is the
    caller's. The thread takes no signals. Whether the system has one. 30 us. *)

val set_minor_heap : words:int -> unit
(** Sets the size of the calling domain's minor heap, and nothing else: [Gc.set] would undo what
    another domain sets at the same time. A minor collection, if it is another size. Ends the
    program where the system has no memory. *)

val free_stacks : keep:int -> unit
(** Frees the stacks that the calling domain keeps for fibers to come, but for [keep] of each size:
    OCaml before 5.5 keeps any number, and loses them when the domain ends. *)

val free_stacks_at_end : unit -> unit
(** Has the calling domain free these stacks when it ends. 3 ns where it does already. *)

val domain_must_stay : unit -> bool
(** Whether the calling domain owns weak pointers, ephemerons or finalised values, which would not
    survive its end well, or has other threads, for which its end would wait. *)

val called_up_at : unit -> int
(** When the collector called up the calling domain's worker last, in ticks ({!look_up_every}); 0:
    never. *)

val look_up_every : int -> int -> unit
(** [look_up_every index ticks] makes the collector remind a domain's worker, at a minor collection
    [ticks] or more after the last reminder: the worker's first word becomes 0 and the atomic
    in its second 1. At every collection but the first after a worker came, the atomic in its
    third word grows by 1, and that in its fourth by the {!ticks} that the domain's own part took,
    without the runtime's barriers. [index] is where domain-local storage keeps the worker;
    nothing happens if that is -1. *)

(** A place for one thread to sleep. It holds at most one wake-up token, so a wake that comes
    before the sleep is not lost. *)
module Sleeper : sig
  type t

  val create : unit -> t

  val sleep : t -> int -> bool
  (** [sleep s ms] returns once there is a token, which it consumes, or after [ms]
      milliseconds (negative: never), and says whether there was one. Signals that came meanwhile
      are handled after it. *)

  val doze : t -> int -> bool
  (** The same for a thread that has nothing to do: other threads get the signals. *)

  val wake : t -> unit
  (** From any thread. Costs 10-16 us of a kernel call when somebody sleeps. *)
end

val sleep_ms : int -> unit
(** Sleeps for so many milliseconds. The domain is free for its other threads meanwhile. *)

(** A value that only tells that it was collected: put it where what you ask about is. Neither weak
    pointers nor [Gc.finalise_last] will do: OCaml 5.4.1 loses count of both when domains end. *)
module Canary : sig
  type t
  type watch

  val create : unit -> t * watch

  val is_dead : watch -> bool
  (** Whether the collector has found the canary unreachable. *)
end
