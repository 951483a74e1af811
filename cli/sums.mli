(** What is added up of a run: times by what they were, and tables by name or place. *)

type what =
  | Working
  | Minor
  | Major
  | Stop
  | Looking  (** for work, while others had some *)
  | Parked  (** the same, asleep *)
  | Outside
  | Unknown
  | Traced  (** in tasks that were traced *)
  | Queued
  | Spun  (** looking for locks that others held *)

(** Why a CPU was not used. *)
type lack =
  | Waits of int  (** for a class of {!Rules.classes}, by its place there *)
  | Worker  (** no pool has one for it *)
  | Lent  (** left to other programs *)
  | Share
  | Parallelism
  | Untold  (** while one of many waits was traced *)

type t

val make : unit -> t
val spend : t -> what -> int -> unit
val miss : t -> lack -> int -> unit
val name : t -> id:int -> string -> unit
val name_of : t -> int -> string

val class_of : t -> int -> int option
(** The class of the waits whose call has that number. *)

val task : t -> Chain.task -> unit
(** One that has ended. *)

val ended_at : t -> int -> int
(** How many of that site have. *)

val wait : t -> reason:int -> times:int -> few:bool -> int -> unit
(** So many waits, of so many ns each. [few]: not all of its kind are traced. *)

val wait_place : t -> reason:int -> place:int -> unit
val blocked : t -> string -> int -> unit
val counter : t -> string -> int -> unit

(** A worker's own counts. *)
type counts = { ran : int; handed_out : int; stolen : int }

val count : t -> worker:int * int -> attached:bool -> counts -> unit

(** What the clocks know besides. *)
type rest = {
  wall : int;  (** ns *)
  workers : int;
  minors : int;
  sampled : bool;
  straggler : (int * int * int) option;  (** site, ns, kin *)
  root : Chain.task;
}

val measures : t -> rest -> Measures.t
