(** The records of a worker's place and of a pool.

    Any thread reads their atomics; the comments name the one module that writes each. A place's
    own part is its owner's alone ({!Own}). *)

type t = {
  mutable quiet : int;  (** first: see Compat.first_word. 1: a fork runs in place (Publish) *)
  look : int Atomic.t;  (** second: gc_hooks.c sets it. 1: time to look up (Publish) *)
  collected : int Atomic.t;  (** third: gc_hooks.c counts minor collections here, ... *)
  collecting : int Atomic.t;  (** ... fourth: and the ticks they took (Machine) *)
  index : int;
  resident : bool;
  owner : int Atomic.t;  (** the thread that works here, or 0 (Place) *)
  deque : Promise.any Deque.t;
  mailbox : Mailbox.t;
  pool : pool;
  backtrace : bool Atomic.t;  (** the owner's setting, for thieves to take over (Publish) *)
  away : bool Atomic.t;  (** its thread works in another pool meanwhile (Run) *)
  on_domain : bool Atomic.t;  (** false: a caller whose domain works for another (Caller) *)
  dormant : bool Atomic.t;  (** a caller that has slept for long, and uses no CPU (Sleep) *)
  left : Promise.any Atomic.t;  (** the fiber that its sleeping thread goes on with (Sleep) *)
  own : Own.t;
  published : Counts.t Atomic.t;  (** as of the owner's last pause (Place) *)
}

and pool = {
  name : string;
  settings : settings;
  workers : t array Atomic.t;  (** a second read may find more: see {!Place} *)
  size : int Atomic.t;  (** workers that the pool would like to have (Place) *)
  reach : int Atomic.t;  (** the largest size so far, or place of a resident, from 1 (Place) *)
  allowed : int Atomic.t;  (** residents that may work: those of places 1 to [allowed] (Place) *)
  refused : int Atomic.t;  (** when there was no domain to be had, in ns; or 0 (Resident) *)
  needed : need Atomic.t;  (** residents that must be there whatever the machine does (Sleep) *)
  promised : int Atomic.t;  (** residents on which its tasks may count (Place) *)
  posting : int Atomic.t;  (** callers that wait for a mailbox to be idle (Region) *)
  inbox : Promise.any Inbox.t;
  parking : Parking.t;
  searching : int Atomic.t;  (** workers between finding nothing and sleeping (Sleep) *)
  residents : int Atomic.t;  (** that are there (Resident) *)
  history : History.t;
  suspended : int Atomic.t;  (** tasks that wait for something (Publish) *)
  closing : bool Atomic.t;  (** (Pool) *)
  inherited : bool Atomic.t;  (** backtraces: the setting of the last sender (Publish) *)
  strays : (int * exn) list Atomic.t;
      (** asynchronous exceptions that a thread, or anyone (0), raises later (Worker) *)
  mutable home : Promise.home;  (** set once, before anybody sees the pool *)
  leaving : Machine.Sleeper.t list Atomic.t;  (** threads that close the pool (Pool) *)
}

and settings = {
  number : int;  (** unlike its name, no other pool's *)
  wanted : wanted;
  minor_heap : int option;  (** [Heap.choice] *)
  regulars : int;  (** places that were made with the pool: one caller's and the residents' *)
}

and wanted =
  | Exactly of int  (** so many workers, whatever the machine has *)
  | At_most of int  (** as many as there are CPUs, but not more than so many *)

and need = { residents : int; until : int  (** in ns *) }
