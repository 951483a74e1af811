(** What the scheduler needs of the machine and the stdlib does not offer. *)

val thread_id : unit -> int
(** The calling system thread, as a number that no other live thread has. About 2 ns. *)

val code_of : ('a -> 'b) -> int
(** A key for a closure's code: equal for all closures made by one expression. A hint:
    partial applications share theirs. *)

val yield : unit -> unit
(** Lets another thread of the machine run, if one is waiting for this CPU. Keeps the domain:
    call it only in a loop that polls. *)

external ticks : unit -> (int[@untagged]) = "muster_ticks" "muster_ticks_untagged"
[@@noalloc]
(** A clock for short spans, a few nanoseconds to read. See {!ticks_of_us}. *)

val ticks_of_us : int -> int
(** How many {!ticks} that many microseconds have, at least 1. *)

val backtrace_status : unit -> bool
(** [Printexc.backtrace_status] of the calling domain, without the cost of a full call. *)

(** A place for one thread to sleep. It holds at most one wake-up token, so a wake that comes
    before the sleep is not lost. *)
module Sleeper : sig
  type t

  val create : unit -> t

  val sleep : t -> int -> unit
  (** [sleep s ms] returns once there is a token, which it consumes, or after [ms]
      milliseconds (negative: never). Signals that came meanwhile are handled after it. *)

  val wake : t -> unit
  (** From any thread. Costs 10-16 us of a kernel call when somebody sleeps. *)
end
