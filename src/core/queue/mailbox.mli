(** The job that a region's caller gives to one worker, and its progress: all on one cache line, of
    which a region costs each worker two trips. *)

type report = {
  failures : Outcome.failure Leftmost.t;
  late : int Atomic.t;  (** shares that go on after their mailbox was freed *)
}
(** Written by the shares of one region, for its caller. *)

val report : unit -> report

type t = private {
  mutable word : int;  (** first: see Compat.first_word *)
  mutable share : int -> unit;
  mutable report : report;
  mutable from : int;  (** the caller's place *)
  mutable backtrace : bool;  (** the caller's setting *)
}

val create : is_open:bool -> t

type letter = t
(** The content without a mailbox; its word means nothing. *)

val letter : (int -> unit) -> report -> from:int -> backtrace:bool -> letter
val blank : unit -> letter

type job = private int
(** One share of one region. *)

val none : job

val job : from:int -> nth:int -> job
(** Of the [nth] region whose caller is in that place, so no other job is equal. *)

(** {2 What it shows} *)

val is_idle : t -> bool

val is_gone : t -> bool
(** No resident works here (Resident). *)

val posted : t -> job
(** The job that waits for its worker, or [none]. *)

val is_posted : t -> bool

type progress = Waiting | Running | Over

val progress : t -> job -> progress

(** {2 Steps} *)

val post : t -> job -> letter -> bool
(** Whether the mailbox was idle. *)

val try_begin : t -> job -> bool
(** Whether the calling thread, and nobody else, does the posted job or takes it back. It may read
    the content. *)

val read : t -> into:letter -> unit

val free : t -> unit
(** The job has ended, or goes on elsewhere. Keeps nothing of it. *)

val lock : t -> bool
(** From idle to gone. *)

val unlock : t -> unit
(** From gone to idle. *)
