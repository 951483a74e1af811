(* The thread at a place is a resident (a domain of the pool's own) or a caller, while it is inside
   the pool. Place 0 is for a caller, the residents' follow. Places for callers that come while 0 is
   taken are made on demand, at the end, and stay (Caller).

   Ownership: the deque's bottom, and all that is in [own], belong to the thread in [owner].
   Domain-local storage is shared by all threads of a domain, so [owned] compares the thread.

   [quiet] is all that a fork looks at: 1 = the deque holds enough for the thieves, run in
   place. The owner sets it when the deque has [high] entries, and clears it at [low]; a thief
   clears it when it takes something. *)

type t = Slot.t
type pool = Slot.pool
type Promise.owner += Pool of pool

let high = 8
let low = 2
let none = Promise.(any (make nowhere ignore))
let uncancelled = Promise.(any (started nowhere))

let rec change cell f =
  let old = Atomic.get cell in
  if not (Atomic.compare_and_set cell old (f old)) then change cell f

(* {2 Pools} *)

let make_own (home : Promise.home) victim : Slot.own =
  let rec idle =
    { Slot.context = uncancelled; home; number = 0; checked = false; handled = false; call = None;
      beneath = idle; depth = 0; traced = 0; branch = Trunk; gave_up = false;
      hook = Entries.nobodys }
  in
  Compat.padded
    {
      Slot.fiber = idle;
      idle;
      in_share = false;
      filling = true;
      bored = false;
      task = none;
      records = false;
      is_over = (fun () -> false);
      victim;
      polls = 0;
      cpu_wait = Cpu_wait.make ();
      counts = Counts.make ();
    }

let make (pool : pool) index : t =
  let resident = index > 0 && index < pool.settings.regulars in
  Compat.padded
    {
      Slot.quiet = 0;
      look = Compat.padded (Atomic.make 0);
      collected = Compat.padded (Atomic.make 0);
      collecting = Compat.padded (Atomic.make 0);
      index;
      resident;
      owner = Compat.padded (Atomic.make 0);
      pool;
      deque = Deque.create ~capacity:8 ~is_live:Promise.is_ready none;
      mailbox = Mailbox.create ~is_open:(not resident);
      on_domain = Atomic.make true;
      dormant = Atomic.make false;
      backtrace = Compat.padded (Atomic.make false);
      away = Compat.padded (Atomic.make false);
      own = make_own pool.home index;
      published = Compat.padded (Atomic.make (Counts.make ()));
    }

let blank ~name (settings : Slot.settings) : pool =
  let ended = Atomic.make 0 and told = Atomic.make false and log = Atomic.make [] in
  let history = { Slot.since = Machine.now (); ended; told; log } in
  {
    name;
    settings;
    workers = Atomic.make [||];
    size = Atomic.make 1;
    allowed = Compat.padded (Atomic.make 0);
    refused = Atomic.make 0;
    needed = Atomic.make { Slot.residents = 0; until = 0 };
    promised = Atomic.make 0;
    posting = Compat.padded (Atomic.make 0);
    inbox = Inbox.create none;
    parking = Parking.create settings.regulars;
    searching = Compat.padded (Atomic.make 0);
    residents = Atomic.make 0;
    history;
    suspended = Compat.padded (Atomic.make 0);
    closing = Atomic.make false;
    inherited = Atomic.make false;
    strays = Atomic.make [];
    home = Promise.nowhere;
    leaving = Atomic.make [];
  }

let make_pool ~name settings =
  let pool = blank ~name settings in
  let owner = Pool pool in
  pool.home <- Promise.home ~unheard:(Uncaught.note owner) owner;
  Atomic.set pool.workers (Array.init settings.regulars (make pool));
  pool

let add_place (pool : pool) workers =
  let i = Array.length workers in
  Parking.reach pool.parking i;
  let more = Array.append workers [| make pool i |] in
  ignore (Atomic.compare_and_set pool.workers workers more)

let open_pools : pool list Atomic.t = Atomic.make []
let is_watched = Compat.padded (Atomic.make false)
let[@inline] workers (pool : pool) = Atomic.get pool.workers
let has_one_caller (pool : pool) = Array.length (workers pool) = pool.settings.regulars

let count_places pool holds =
  Array.fold_left (fun n w -> n + Bool.to_int (holds w)) 0 (workers pool)

let set_size (pool : pool) n = Atomic.set pool.size n

(* {2 Places} *)

let[@inline] claim (w : t) thread =
  Atomic.get w.owner = 0 && Atomic.compare_and_set w.owner 0 thread

let[@inline] set_owner (w : t) thread = Atomic.set w.owner thread
let is_taken (w : t) = Atomic.get w.owner <> 0
let is_caller (w : t) = (not w.resident) && is_taken w
let owned (w : t) = Atomic.get w.owner = Machine.thread_id ()

(* It takes tasks while it waits: not so one whose domain works for another thread. *)
let helps (w : t) = is_caller w && Atomic.get w.on_domain && not (Atomic.get w.away)
let has_helper pool = Array.exists helps (workers pool)
let alone (w : t) = Atomic.get w.pool.allowed = 0

let has_offered (w : t) =
  let newest = Deque.peek w.deque in
  newest != none
  &&
  match Promise.state newest with
  | Ready (_, { owner = Promise.Nobody; _ }, _) -> true
  | Ready _ | Running _ | Returned _ | Raised _ -> false

(* A copy that nobody changes. *)
let publish_counts (w : t) = Atomic.set w.published (Counts.copy w.own.counts)

let begun pool =
  let begun_by (w : t) =
    let { Counts.tasks; forks; _ } = Atomic.get w.published in
    tasks + forks
  in
  Array.fold_left (fun n w -> n + begun_by w) 0 (workers pool)

(* {2 Where the calling thread works} *)

let nobody =
  let wanted = Slot.At_most 1 in
  (workers (make_pool ~name:"" { number = -1; wanted; minor_heap = None; regulars = 1 })).(0)

let here = Compat.slot (fun () -> nobody)
let current () = Compat.get here
let here_index = Compat.index here
let index_in_state = Compat.index_in_state here
let[@inline] is_quiet () = Compat.first_word_set here_index

let unshown = Compat.padded (Atomic.make 0)

let[@inline] all_shown () = Atomic.get unshown = 0

(* A thread that works in several pools is at work in one of them, and away from the others. *)
let own_place_of_caller () =
  let works_here (w : t) = owned w && not (Atomic.get w.away) in
  let own_place_in pool = Array.find_opt works_here (workers pool) in
  List.find_map own_place_in (Atomic.get open_pools)

let owned_place () =
  let w = current () in
  if owned w then Some w else if all_shown () then None else own_place_of_caller ()

let exits = Atomic.make false

(* Functions of [Stdlib.at_exit] come after the domain's own. *)
let note_end =
  Machine.at_domain_end (fun () ->
      Machine.free_stacks ~keep:0;
      if owned_place () <> None then Atomic.set exits true)

let rec within turns holds =
  turns > 0
  && begin
    Domain.cpu_relax ();
    holds () || within (turns - 1) holds
  end

let soon holds =
  let w = current () in
  let is_only = w != nobody && alone w && has_one_caller w.pool in
  holds () || ((not is_only) && within Machine.join_turns holds)

(* {2 What every checkpoint looks at} *)

let attention = Compat.padded (Atomic.make 0)
let stops = 1
let shortage = 2

let attend reason holds =
  let with_it seen = if holds then seen lor reason else seen land lnot reason in
  let seen = Atomic.get attention in
  if with_it seen <> seen then change attention with_it
