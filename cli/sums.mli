(** What is added up of a run: times by what they were, and tables by name or place. *)

type what =
  | Working
  | Minor
  | Major
  | Stop
  | Held  (** in a collection, by a domain that had no CPU *)
  | Looking  (** for work, while others had some *)
  | Parked  (** the same, asleep *)
  | Outside
  | Unknown
  | Traced  (** in tasks that were traced *)
  | Queued
  | Spun  (** looking for locks that others held *)
  | Beside  (** on a CPU, in threads that are in no pool *)
  | Quiet  (** of the wall: nobody was at work, in a pool or outside *)

(** Why a CPU was not used. *)
type lack =
  | Waits of int  (** for a class of {!Rules.classes}, by its place there *)
  | Worker  (** no pool has one for it *)
  | Lent  (** left to other programs *)
  | Share
  | Parallelism
  | Untold  (** while one of many waits was traced *)
  | Asleep  (** nobody was at work, and the first thread slept *)

type t

val make : unit -> t
val spend : t -> what -> int -> unit

val empty : unit -> int array

val charge : int array -> what -> int -> unit
(** What one worker did, in ns. *)

val settle_worker : t -> int array -> queued:int -> others:int -> unit
(** Adds and empties what it has done since the last time. For [queued] ns of these it had no CPU,
    whatever it did, and the other threads had none for [others]: so long it waited for them, where
    it waited for domains. *)

val miss : t -> lack -> int -> unit
val name : t -> id:int -> string -> unit

val class_of : t -> int -> int option
(** The class of the waits whose call has that number. *)

val wait : t -> reason:int -> times:int -> few:bool -> int -> unit
(** So many waits, of so many ns each. [few]: not all of its kind are traced. *)

val wait_place : t -> reason:int -> place:int -> unit
val blocked : t -> string -> int -> unit

val job : t -> at:int -> queued:int -> unit
(** A job of a service begins, which was in its queue for so many ns. *)

val late : t -> site:int -> int -> unit
(** So long other domains waited for one that ran a task of that site to stop. *)

val asleep : t -> string -> int -> int
(** The first thread was seen asleep, in that call, outside all tasks, at the end of so many ns: for
    that part of them in which nobody was at work, it did nothing. The result is that part. *)

val settle : t -> cpu:int -> queued:int -> unit
(** Since the last call, threads that are in no pool were on a CPU, and waited for one, for so many
    ns: CPUs that seemed to be free were not. *)

val counter : t -> string -> int -> unit

(** A worker's own counts. *)
type counts = { ran : int; handed_out : int; stolen : int }

val count : t -> worker:int * int -> attached:bool -> counts -> unit

(** What the clocks know besides. *)
type rest = {
  wall : int;  (** ns *)
  workers : int;
  minors : int;
  shares : int;
  sampled : bool;
  straggling : int;
  straggler : (int * int) option;  (** site, ns *)
  root : Chain.task;
}

val measures : t -> rest -> Measures.t
