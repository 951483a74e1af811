(** The records of a worker's place and of a pool.

    Any thread reads their atomics. [own] is read and written by the place's owner alone, and lies
    off the cache lines of the others. The comments name the one module that writes each field. *)

type fiber = {
  mutable context : Promise.any;  (** the task or scope that its code is a part of *)
  mutable home : Promise.home;  (** of the tasks that it starts *)
  mutable number : int;  (** as the holder of a lock; 0: not drawn yet *)
  mutable checked : bool;
      (** was at a checkpoint, away or took a lock since its innermost deadline was set *)
  handled : bool;  (** whether [Suspend] finds a worker's handler *)
  call : call option;  (** of a caller's function *)
  mutable beneath : fiber;  (** on the same stack, where it waits; [idle] lies on itself *)
  mutable depth : int;  (** fibers beneath it *)
  mutable traced : int;  (** the task that it runs, as Trace numbers it, or 0 (Tell) *)
  mutable branch : branch;  (** the branch that it runs *)
  mutable gave_up : bool;  (** Ctrl-C has ended a wait of it for code that goes on *)
  mutable hook : Entries.entry;  (** at its context's stop, for its waits one after the other *)
}
(** One sequence of calls. By the worker that runs it (Fiber). *)

and branch =
  | Trunk  (** none of another fiber's *)
  | Branch of { is_vain : bool Atomic.t; from : branch }
      (** [is_vain]: code left of it has failed, and its fork waits for its end alone (Fork) *)

(** The messages between a caller's thread and its fiber. *)
and call = {
  struck : Outcome.failure option Atomic.t;  (** yet to be raised by the fiber (Fiber) *)
  waits : (unit -> unit) Atomic.t;  (** goes on with the fiber, if it still waits there (Run) *)
}

and own = {
  mutable fiber : fiber;  (** that runs here (Fiber) *)
  idle : fiber;  (** runs here between two others *)
  mutable in_share : bool;  (** runs the job that its mailbox shows (Share) *)
  mutable filling : bool;  (** hands out tasks until the deque has [Place.high] (Publish) *)
  mutable bored : bool;  (** has slept for as long as an idle worker stays (Sleep) *)
  mutable task : Promise.any;  (** taken out of a queue, and perhaps not begun (Search) *)
  mutable records : bool;  (** backtraces: the thread that handed it out (Search) *)
  mutable is_over : unit -> bool;  (** the wait beneath the tasks that run here (Worker) *)
  mutable victim : int;  (** the place at which it looks first for tasks of others (Search) *)
  mutable polls : int;  (** checkpoints of code that may wait in a loop (Yield) *)
  cpu_wait : Cpu_wait.t;
  counts : Counts.t;
}

and t = {
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
  away : bool Atomic.t;  (** its thread works in another pool meanwhile (Share) *)
  on_domain : bool Atomic.t;  (** false: a caller whose domain works for another (Caller) *)
  dormant : bool Atomic.t;  (** a caller that has slept for long, and uses no CPU (Sleep) *)
  own : own;
  published : Counts.t Atomic.t;  (** as of the owner's last pause (Place) *)
}

and pool = {
  name : string;
  settings : settings;
  workers : t array Atomic.t;  (** a second read may find more: see {!Place} *)
  size : int Atomic.t;  (** workers that the pool would like to have (Place) *)
  allowed : int Atomic.t;  (** residents that may work: those of places 1 to [allowed] (Budget) *)
  refused : int Atomic.t;  (** when there was no domain to be had, in ns; or 0 (Resident) *)
  needed : need Atomic.t;  (** residents that must be there whatever the machine does (Budget) *)
  promised : int Atomic.t;  (** residents on which its tasks may count (Budget) *)
  posting : int Atomic.t;  (** callers that wait for a mailbox to be idle (Region) *)
  inbox : Promise.any Inbox.t;
  parking : Parking.t;
  searching : int Atomic.t;  (** workers between finding nothing and sleeping (Sleep) *)
  residents : int Atomic.t;  (** that are there (Resident) *)
  history : history;
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

and history = {
  since : int;  (** when the pool was made, in ns *)
  ended : int Atomic.t;  (** domains (Resident) *)
  told : bool Atomic.t;  (** whether its figures were printed (Report) *)
  log : decision list Atomic.t;  (** the newest first (Load) *)
}

and decision = { at : int;  (** in ns *) kind : kind; what : string; why : string }

(** Many decisions of one kind push out none of the others. *)
and kind =
  | Workers  (** how many a pool has *)
  | Heaps
  | Cpus  (** that the process has, or lends *)
  | Domains  (** that start and end *)
