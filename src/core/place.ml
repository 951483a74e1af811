(* A place in a pool where a thread works, and what it hands out to the others.

   The thread is a resident (a domain of the pool's own) or a visitor: a caller, while it is
   inside the pool. Place 0 is for a visitor, the residents' follow, then those of guests, for
   callers that come while 0 is taken.

   Ownership: the deque's bottom, and all that is in [own], belong to the thread in [owner].
   Domain-local storage is shared by all threads of a domain, so finding a place there is not
   owning it: [owned] compares the thread. Reading [quiet] needs no ownership.

   [quiet] is all that a fork looks at: 1 = the deque holds enough for the thieves, run in
   place. The owner sets it when the deque has [high] entries, and clears it at [low]; a thief
   clears it when it takes something, to make the owner look again. *)

(* One block, so that a worker that receives it fetches one cache line and not four. *)
type mailbox =
  | Idle
  | Job of {
      share : int -> unit;
      from : int;
      backtrace : bool;  (** the caller's setting *)
      ordered : bool;  (** cannot be taken back, so the worker need not say that it began *)
      failures : Outcome.failure Leftmost.t;
      late : int Atomic.t;  (** shares that go on after their mailbox was freed *)
    }
  | Busy of mailbox  (** with that Job, which was not ordered *)

type t = {
  mutable quiet : int;  (** first: see Compat.first_word *)
  index : int;
  resident : bool;
  owner : int Atomic.t;
  deque : Promise.any Deque.t;
  mailbox : mailbox Atomic.t;
  pool : pool;
  backtrace : bool Atomic.t;  (** the owner's setting, for thieves to take over *)
  away : bool Atomic.t;  (** its thread works in another pool meanwhile *)
  own : own;
  published : counts Atomic.t;  (** as of the owner's last pause *)
}

(** The owner's alone, off the cache lines that others read. *)
and own = {
  mutable in_share : bool;  (** runs the job that its mailbox shows *)
  mutable careful : bool;  (** has been away, so others may take its jobs back *)
  mutable handled : bool;  (** whether [Suspend] finds this worker's handler *)
  mutable filling : bool;  (** hands out tasks until [high] *)
  mutable victim : int;
  counts : counts;
}

and counts = {
  mutable tasks : int;
  mutable forks : int;
  mutable steals : int;
  mutable parks : int;
  mutable regions : int;
}

and pool = {
  name : string;
  mutable workers : t array;  (** set once, before anyone else knows the pool *)
  size : int Atomic.t;
  regulars : int;  (** places that are not guests' *)
  guests : int Atomic.t;
  posting : int Atomic.t;  (** callers that wait for a mailbox to be Idle *)
  inbox : Promise.any Inbox.t;
  parking : Parking.t;
  pauses : int;  (** before the first yield; 0 where workers outnumber CPUs *)
  searching : int Atomic.t;  (** workers between finding nothing and sleeping *)
  residents : int Atomic.t;
  suspended : int Atomic.t;  (** tasks that wait for something *)
  closing : bool Atomic.t;
  inherited : bool Atomic.t;  (** backtrace setting of who sent the last outside item *)
  stray : exn option Atomic.t;  (** an asynchronous exception that struck an idle worker *)
  hire : pool -> unit;  (** makes sure that there is a resident, if it can *)
  unheard : Promise.unheard;
  domains : unit Domain.t list Atomic.t;
  leaving : Machine.Sleeper.t list Atomic.t;  (** who waits for workers to leave *)
}

let high = 8
let low = 2
let none = Promise.(Any (make ~unheard:ignored ignore))

let zero () = { tasks = 0; forks = 0; steals = 0; parks = 0; regions = 0 }

let make_own index =
  Compat.padded
    { in_share = false; careful = false; handled = false; filling = true; victim = index;
      counts = Compat.padded (zero ()) }

let make pool index =
  let resident = index > 0 && index < pool.regulars in
  Compat.padded
    { quiet = 0; index; resident; owner = Compat.padded (Atomic.make 0); pool;
      deque = Deque.create ~capacity:16 none;
      mailbox = Compat.padded (Atomic.make Idle);
      backtrace = Compat.padded (Atomic.make false); away = Compat.padded (Atomic.make false);
      own = make_own index; published = Compat.padded (Atomic.make (zero ())) }

let make_pool ~name ~regulars ~places ~pauses ~hire =
  { name; workers = [||]; regulars; guests = Compat.padded (Atomic.make 0);
    posting = Compat.padded (Atomic.make 0); size = Atomic.make 1; inbox = Inbox.create (); pauses;
    parking = Parking.create places; searching = Compat.padded (Atomic.make 0);
    residents = Atomic.make 0; suspended = Compat.padded (Atomic.make 0);
    closing = Atomic.make false; inherited = Atomic.make false; stray = Atomic.make None; hire;
    unheard = Uncaught.note ~pool:name; domains = Atomic.make []; leaving = Atomic.make [] }

(* What a thread outside every pool finds: a worker that nobody owns. *)
let nobody =
  let pool = make_pool ~name:"" ~regulars:1 ~places:1 ~pauses:0 ~hire:ignore in
  let w = make pool 0 in
  pool.workers <- [| w |];
  w

let here = Compat.slot (fun () -> nobody)
let current () = Compat.get here
let here_index = Compat.index here
let[@inline] is_quiet () = Compat.first_word_set here_index
let owned w = Atomic.get w.owner = Machine.thread_id ()
let alone w = Atomic.get w.pool.size = 1

(* A copy that nobody changes. *)
let publish_counts w =
  let counts = w.own.counts in
  Atomic.set w.published { counts with tasks = counts.tasks }

(* {2 Hand out and take back (owner)} *)

let set_quiet w v = Atomic.set (Compat.first_word w) v
let rouse w = if Atomic.get (Compat.first_word w) <> 0 && not (alone w) then set_quiet w 0

(* Looks again after the write: thieves may have emptied the deque meanwhile, and their
   [rouse] came too early. *)
let hush w =
  w.own.filling <- false;
  set_quiet w 1;
  if Deque.size w.deque <= low then rouse w

let wants_tasks w =
  let size = Deque.size w.deque in
  if size <= low then w.own.filling <- true;
  (w.own.filling && not (alone w)) || (hush w; false)

let record_backtrace status =
  if Machine.backtrace_status () <> status then Printexc.record_backtrace status

let inherit_backtrace flag = record_backtrace (Atomic.get flag)

let publish_backtrace flag =
  let status = Machine.backtrace_status () in
  if Atomic.get flag <> status then Atomic.set flag status

(* One wake per publication, and none while somebody is searching: a searcher looks at
   everything once more before it sleeps, and wakes the next when it finds something. *)
let wake_for_work pool =
  if Parking.sleepers pool.parking > 0 && Atomic.get pool.searching = 0 then
    Parking.wake_one pool.parking

let is_ready (Promise.Any p) = Promise.is_ready p

(* Tasks that were awaited leave their entries behind. *)
let rec drop_stale w =
  let newest = Deque.peek w.deque in
  if newest != none && not (is_ready newest) then begin
    Deque.drop w.deque newest;
    drop_stale w
  end

let offer w ~wake task =
  publish_backtrace w.backtrace;
  w.own.counts.forks <- w.own.counts.forks + 1;
  drop_stale w;
  Deque.push w.deque task;
  if w.own.filling && Deque.size w.deque >= high then hush w;
  if wake then wake_for_work w.pool

let retract w task =
  Deque.drop w.deque task;
  if Deque.size w.deque <= low then rouse w

(* A resident, as visitors do not serve the inbox; nor does a visitor's search count. *)
let wake_for_inbox pool =
  if Atomic.get pool.residents = 0 then Parking.wake_all pool.parking
  else Parking.wake_one pool.parking ~from:1 ~upto:(pool.regulars - 1)

let send pool task =
  publish_backtrace pool.inherited;
  Inbox.push pool.inbox task;
  pool.hire pool;
  wake_for_inbox pool

(* To the deque if the calling thread is a worker of that pool, else to the inbox. *)
let submit pool task =
  let w = current () in
  if w.pool == pool && owned w then offer w ~wake:true task else send pool task
