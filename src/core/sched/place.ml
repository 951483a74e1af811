(* A place in a pool where a thread works, and what it hands out to the others.

   The thread is a resident (a domain of the pool's own) or a caller, while it is inside the
   pool. Place 0 is for a caller, the residents' follow. Places for callers that come while 0 is
   taken are made on demand, at the end, and stay (Caller).

   Ownership: the deque's bottom, and all that is in [own], belong to the thread in [owner].
   Domain-local storage is shared by all threads of a domain, so finding a place there is not
   owning it: [owned] compares the thread. Reading [quiet] needs no ownership.

   [quiet] is all that a fork looks at: 1 = the deque holds enough for the thieves, run in
   place. The owner sets it when the deque has [high] entries, and clears it at [low]; a thief
   clears it when it takes something, to make the owner look again. *)

type t = {
  mutable quiet : int;  (** first: see Compat.first_word *)
  look : int Atomic.t;  (** second: gc_hooks.c sets it. 1 = time to look up (Load) *)
  collected : int Atomic.t;  (** third: gc_hooks.c counts minor collections here, ... *)
  collecting : int Atomic.t;  (** ... fourth: and the ticks they took (Machine) *)
  index : int;
  resident : bool;
  owner : int Atomic.t;
  deque : Promise.any Deque.t;
  mailbox : Mailbox.t;
  pool : pool;
  backtrace : bool Atomic.t;  (** the owner's setting, for thieves to take over *)
  away : bool Atomic.t;  (** its thread works in another pool meanwhile *)
  on_domain : bool Atomic.t;  (** false: a caller whose domain works for another thread *)
  dormant : bool Atomic.t;  (** a visitor that has slept for long, and uses no CPU (Load) *)
  left : Promise.any Atomic.t;  (** the fiber that its sleeping thread goes on with
                                    ([Run.leave_to]) *)
  own : own;
  published : Counts.t Atomic.t;  (** as of the owner's last pause *)
}

and own = {
  mutable in_share : bool;  (** runs the job that its mailbox shows *)
  mutable fiber : fiber;  (** that runs here; assigned by Fiber only *)
  idle : fiber;  (** runs here between two others *)
  mutable filling : bool;  (** hands out tasks until [high] *)
  mutable stale : bool;  (** may have left entries of tasks that it ran in place (Task.await) *)
  mutable bored : bool;  (** has slept its fill *)
  finding : Finding.t;
  cpu_wait : Cpu_wait.t;
  counts : Counts.t;
}
(** The owner's alone, off the cache lines that others read. *)

and fiber = {
  mutable context : Promise.any;  (** what its code is a part of *)
  mutable home : Promise.home;  (** of the tasks that it starts *)
  mutable number : int;  (** as the holder of a lock; 0: not drawn yet *)
  mutable checked : bool;
      (** was at a checkpoint, away or took a lock since its innermost deadline was set *)
  handled : bool;  (** whether [Suspend] finds a worker's handler *)
  mutable beneath : fiber;  (** on the same stack, where it waits; [idle] lies on itself *)
  mutable depth : int;  (** fibers beneath it *)
}
(** One sequence of calls. By the worker that runs it, and by Fiber only. *)

and pool = {
  name : string;
  number : int;  (** unlike the name, no other pool's *)
  workers : t array Atomic.t;
      (** grows by a place for one more caller; whoever reads it twice may find more *)
  wanted : wanted;
  size : int Atomic.t;
  reach : int Atomic.t;  (** the largest size so far, or place of a resident, counted from 1 *)
  allowed : int Atomic.t;  (** residents that may work now: those of places 1 to [allowed] *)
  refused : int Atomic.t;  (** when there was no domain to be had, in ns; 0 otherwise *)
  needed : int Atomic.t;  (** residents that must be there whatever the machine does, ... *)
  needed_until : int Atomic.t;  (** ... until then, in ns *)
  promised : int Atomic.t;  (** residents on which its tasks may count, whatever the machine does *)
  minor_heap : int option;  (** [Heap.choice] *)
  regulars : int;  (** places that were made with the pool: one caller's and the residents' *)
  posting : int Atomic.t;  (** callers that wait for a mailbox to be idle *)
  inbox : Promise.any Inbox.t;
  parking : Parking.t;
  searching : int Atomic.t;  (** workers between finding nothing and sleeping *)
  residents : int Atomic.t;
  ended : int Atomic.t;  (** domains *)
  suspended : int Atomic.t;  (** tasks that wait for something *)
  closing : bool Atomic.t;
  inherited : bool Atomic.t;  (** backtrace setting of who sent the last outside item *)
  strays : (int * exn) list Atomic.t;
      (** asynchronous exceptions to be raised later: by that thread, or by anyone (0) *)
  mutable home : Promise.home;  (** set once, before anybody sees the pool *)
  leaving : Machine.Sleeper.t list Atomic.t;  (** who waits for workers to leave *)
}

and wanted =
  | Exactly of int  (** so many workers, whatever the machine has *)
  | At_most of int  (** as many as there are CPUs, but not more than so many *)

type Promise.owner += Pool of pool

let high = 8
let low = 2
let none = Promise.(any (make nowhere ignore))

(* The context of code that no task's cancellation concerns. *)
let uncancelled = Promise.(any (started nowhere))

let make_idle home =
  let rec idle =
    {
      context = uncancelled;
      home;
      number = 0;
      checked = false;
      handled = false;
      beneath = idle;
      depth = 0;
    }
  in
  idle

let make_own home index =
  let idle = make_idle home in
  Compat.padded
    {
      in_share = false;
      fiber = idle;
      idle;
      filling = true;
      stale = false;
      bored = false;
      finding = Finding.make ~none index;
      cpu_wait = Cpu_wait.make ();
      counts = Counts.make ();
    }

let make pool index =
  let resident = index > 0 && index < pool.regulars in
  Compat.padded
    {
      quiet = 0;
      look = Compat.padded (Atomic.make 0);
      collected = Compat.padded (Atomic.make 0);
      collecting = Compat.padded (Atomic.make 0);
      index;
      resident;
      owner = Compat.padded (Atomic.make 0);
      pool;
      deque = Deque.create ~capacity:8 none;
      mailbox = Mailbox.create ~is_open:(not resident);
      on_domain = Atomic.make true;
      dormant = Atomic.make false;
      backtrace = Compat.padded (Atomic.make false);
      away = Compat.padded (Atomic.make false);
      left = Atomic.make none;
      own = make_own pool.home index;
      published = Compat.padded (Atomic.make (Counts.make ()));
    }

let[@inline] workers pool = Atomic.get pool.workers

(* A second caller is rare: mostly there is no need to look beyond [reach]. That grows before a
   resident comes, and a caller's place is there before it can be taken. It is read before
   [workers], which may grow meanwhile. *)
let places_in_use pool =
  let n = Array.length (workers pool) in
  if n = pool.regulars then Atomic.get pool.reach else n

(* So far. *)
let has_one_caller pool = Array.length (workers pool) = pool.regulars

let rec change cell f =
  let old = Atomic.get cell in
  if not (Atomic.compare_and_set cell old (f old)) then change cell f

(* From now on the pool's tasks may count on so many residents: they may wait for each other in a
   way that the pool does not see. *)
let[@inline] count_on pool residents =
  if Atomic.get pool.promised < residents then change pool.promised (Int.max residents)

(* Tasks of [Task.async] may count on running beside each other, but in a pool of one worker.
   ([both] and loops promise no such thing.) *)
let[@inline] count_on_others pool = count_on pool (Int.min 1 (Atomic.get pool.size - 1))

let make_pool ~name ~number ~wanted ~minor_heap ~regulars =
  let pool =
    {
      name;
      number;
      wanted;
      minor_heap;
      workers = Atomic.make [||];
      regulars;
      posting = Compat.padded (Atomic.make 0);
      size = Atomic.make 1;
      reach = Atomic.make 1;
      allowed = Compat.padded (Atomic.make 0);
      refused = Atomic.make 0;
      promised = Atomic.make 0;
      needed = Atomic.make 0;
      needed_until = Atomic.make 0;
      inbox = Inbox.create none;
      parking = Parking.create regulars;
      searching = Compat.padded (Atomic.make 0);
      residents = Atomic.make 0;
      ended = Atomic.make 0;
      suspended = Compat.padded (Atomic.make 0);
      closing = Atomic.make false;
      inherited = Atomic.make false;
      strays = Atomic.make [];
      home = Promise.nowhere;
      leaving = Atomic.make [];
    }
  in
  let owner = Pool pool in
  pool.home <- Promise.home ~unheard:(Uncaught.note owner) owner;
  pool

let open_pools : pool list Atomic.t = Atomic.make []

(* Whether the watchdog's thread is there (Watchdog has the protocol). *)
let is_watched = Compat.padded (Atomic.make false)

(* What a thread outside every pool finds: a worker that nobody owns. *)
let nobody =
  let pool =
    make_pool ~name:"" ~number:(-1) ~wanted:(At_most 1) ~minor_heap:None ~regulars:1
  in
  let w = make pool 0 in
  Atomic.set pool.workers [| w |];
  w

let here = Compat.slot (fun () -> nobody)
let current () = Compat.get here
let here_index = Compat.index here
let index_in_state = Compat.index_in_state here
let[@inline] is_quiet () = Compat.first_word_set here_index
let owned w = Atomic.get w.owner = Machine.thread_id ()

(* Domain-local storage shows one place for all threads of a domain. [unshown] counts the callers
   in a pool while it shows another thread's place, or none: each finds its own by its owner
   ([own_place_of_caller]). *)
let unshown = Compat.padded (Atomic.make 0)

let[@inline] all_shown () = Atomic.get unshown = 0

let attention = Compat.padded (Atomic.make 0)
let stops = 1 (* something was stopped, or has a deadline: from then on *)
let shortage = 2 (* some pool has fewer workers than it would like to have (Load) *)

let attend reason holds =
  let with_it seen = if holds then seen lor reason else seen land lnot reason in
  let seen = Atomic.get attention in
  if with_it seen <> seen then change attention with_it

(* A thread that works in several pools is at work in one of them, and away from the others. *)
let works_here w = owned w && not (Atomic.get w.away)

let rec own_place_from workers i =
  if i >= Array.length workers then None
  else if works_here workers.(i) then Some workers.(i)
  else own_place_from workers (i + 1)

let own_place_of_caller () =
  let in_pool pool = function
    | Some _ as found -> found
    | None -> own_place_from (workers pool) 0
  in
  List.fold_right in_pool (Atomic.get open_pools) None

(* Where the calling thread works, if it does: in its innermost place. *)
let owned_place () =
  let w = current () in
  if owned w then Some w else if all_shown () then None else own_place_of_caller ()

(* A worker to whom no other will come for tasks. *)
let alone w = Atomic.get w.pool.allowed = 0

(* The number of looks at another worker's work before its waiter sleeps: none where there is no
   other worker. *)
let looks ~most =
  let w = current () in
  if w != nobody && alone w && has_one_caller w.pool then 0 else most

(* By its owner. (The deque's size counts what thieves have just taken, too.) *)
let[@inline] has_offered w = Deque.peek w.deque != none
let is_taken w = Atomic.get w.owner <> 0
let count_places pool holds =
  Array.fold_left (fun n w -> n + Bool.to_int (holds w)) 0 (workers pool)

(* Whether the pool has fewer workers than its size, so that more of them may come. *)
let is_short pool = Atomic.get pool.allowed < Atomic.get pool.size - 1

(* A copy that nobody changes. *)
let publish_counts w = Atomic.set w.published (Counts.copy w.own.counts)

(* Tasks and forks, as of each worker's last pause. *)
let begun_by w =
  let { Counts.tasks; forks; _ } = Atomic.get w.published in
  tasks + forks

let begun pool = Array.fold_left (fun n w -> n + begun_by w) 0 (workers pool)
