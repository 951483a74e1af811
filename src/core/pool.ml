(* A pool's life: how it starts, who works in it, how it ends. Callers come in by Visit.

   Closing. [closing] is set, then everybody is woken. Residents go on until nothing is left:
   deques and inbox empty, no task suspended. A sender counts itself in [suspended] while it
   looks at [closing] and sends, so that an item is either refused or seen by a resident. Each
   one who leaves wakes those who are closing; they join the domains once nobody is in. *)

open Place
open Worker
open Visit

type t = Place.pool

let size (pool : t) = Atomic.get pool.size

(* {2 Residents}

   Life of a resident's place: [owner] 0 and [mailbox] Gone, nobody there. [hire] claims it by
   compare-and-set of [owner] to [coming], counts the resident, spawns its domain, which puts its
   own identity and opens the mailbox. To leave, it locks the mailbox from Idle to Gone, so that
   no share is ever posted to nobody; then [owner] 0, and the count.

   No work is lost on one who leaves. Whoever publishes reads [residents] after it, and hires if
   there are too few; who leaves reads deques and inbox after taking itself off the count. One
   of the two sees the other. Tasks that lie in the leaver's deque are for callers who wait in
   the pool, and where there is none, for a new resident (Visit.leave has the other half). *)

let coming = -1

let nothing_left pool =
  Inbox.is_empty pool.inbox
  && Array.for_all (fun w -> Deque.is_empty w.deque) pool.workers

let may_close pool =
  Atomic.get pool.closing && Atomic.get pool.suspended = 0 && nothing_left pool

let leaves_at_once w =
  Staff.dismissed w && not (is_guard w || inbox_has_work w)

(* Work that waits for residents in general must not be left to a dismissed one. *)
let may_leave w () =
  if Atomic.get w.pool.closing then may_close w.pool
  else (w.own.bored || leaves_at_once w) && not (Machine.domain_must_stay ())

let rec serve_pool w =
  match work w ~on_top:false ~until:(may_leave w) with
  | () -> ()
  | exception exn -> stash w.pool exn; serve_pool w

(* By a caller that does what is left while it waits. A thread that shares its domain with others'
   work stands back where it waits (Worker), and one that is in another pool works there. *)
let is_visited pool =
  let helps v =
    (not v.resident)
    && Atomic.get v.owner <> 0
    && Atomic.get v.on_domain
    && not (Atomic.get v.away)
  in
  Array.exists helps pool.workers

let note_leave w =
  let what = "a domain ended" in
  if w.own.bored then Staff.decide ~pool:w.pool.name what "it had nothing to do for 150 ms"
  else if not (Atomic.get w.pool.closing) then
    Staff.decide ~pool:w.pool.name what "there is no CPU for it"

(* An asynchronous exception may strike who hires, before the domain begins (which then goes home)
   or after (then nobody may have noted it, and nobody will join it). Both move it from [Called];
   only who hires moves it on. *)
type hiring = Called | Began | Called_off | Unnoted

(* The one who hired it may not have noted its domain yet. *)
let rec await_note w hiring =
  let is_mine domain = Domain.get_id domain = Domain.self () in
  if
    Atomic.get hiring <> Unnoted
    && not (Option.fold (Atomic.get w.domain) ~none:false ~some:is_mine)
  then begin
    Domain.cpu_relax ();
    await_note w hiring
  end

(* Work came while one was leaving: its publisher counted on the one who left. *)
let call_another pool =
  let waits_for_resident = Atomic.get pool.guards > 0 || not (is_visited pool) in
  if Atomic.get pool.residents = 0 then begin
    if something_is_left pool && waits_for_resident then ask_for_one pool
  end
  else if Atomic.get pool.guards > 0 then begin
    let begins_with_a_task v = let task = Deque.oldest v.deque in task != none && is_ready task in
    if Array.exists begins_with_a_task pool.workers then wake_for_work pool
  end

let rec take_leave w =
  if not (Atomic.compare_and_set w.mailbox Idle Gone) then (serve w; take_leave w)
  else begin
    note_leave w;
    Atomic.incr w.pool.ended;
    Deque.sweep w.deque;
    publish_counts w;
    (* Thread identities are used again. *)
    Atomic.set w.owner 0;
    Atomic.decr w.pool.residents;
    wake_posters w.pool;
    call_another w.pool;
    announce_leave w.pool
  end

(* Joins the one who was there before, at the end, when that costs nothing. (Not who hires: it
   may be the same domain, about to end.) *)
let work_as_resident w ~before hiring =
  w.own.settled <- false;
  w.own.bored <- false;
  w.own.looked_at <- 0;
  Machine.usual_signals ();
  Atomic.set w.owner (Machine.thread_id ());
  Compat.set here w;
  Deque.move_in w.deque;
  Atomic.set w.mailbox Idle;
  wake_posters w.pool;
  Dla.within (fun () -> serve_pool w);
  (* The exception of a signal's handler would end the domain before it has taken its leave. *)
  Machine.block_signals ();
  Option.iter Domain.join before;
  await_note w hiring;
  take_leave w;
  (* Last: to leave may be to serve a share, in a fiber. *)
  Machine.free_stacks ~keep:0

let resident w ~before hiring () =
  if Atomic.compare_and_set hiring Called Began then work_as_resident w ~before hiring

let hire_at pool w hiring =
  (* In a pool of one, too, others have to find what it leaves in its deque. *)
  if Atomic.get pool.reach <= w.index then change pool.reach (max (w.index + 1));
  let domain = Machine.spawn (resident w ~before:(Atomic.get w.domain) hiring) in
  Atomic.set w.domain (Some domain);
  Atomic.incr pool.started

type hired =
  | Hired
  | Taken  (** somebody is there, comes or leaves *)
  | Refused  (** the runtime gives no domain: it has 128 by default *)

let spawn_at pool w =
  (* Not [incr], which looks for signals. *)
  ignore (Atomic.fetch_and_add pool.residents 1);
  let hiring = Atomic.make Called in
  match hire_at pool w hiring with
  | () -> Hired
  | exception exn ->
    if Atomic.compare_and_set hiring Called Called_off then begin
      Atomic.set w.owner 0;
      ignore (Atomic.fetch_and_add pool.residents (-1))
    end
    else Atomic.set hiring Unnoted;
    (match exn with Failure _ | Out_of_memory -> Refused | _ -> raise exn)

let spawn pool w =
  if Atomic.get w.owner = 0 && Atomic.compare_and_set w.owner 0 coming then spawn_at pool w
  else Taken

let hire_first pool ~upto =
  let rec from i =
    if i > upto then Taken
    else match spawn pool pool.workers.(i) with Taken -> from (i + 1) | outcome -> outcome
  in
  from 1

let note_hire pool =
  let why =
    if still_needed pool > 0 then "a call waits for it"
    else "there is work, and a CPU for it"
  in
  Staff.decide ~pool:pool.name "a domain started" why

(* Where the runtime has no domain to give, the next look tries again. *)
let hire_one pool =
  Staff.refresh_cpus ~files:false (Machine.now ());
  if not (Staff.has_room pool) then Staff.lend_for (Machine.now ())
  else begin
    let allowed = Atomic.get pool.allowed in
    let wanted = max allowed (still_needed pool) in
    if Atomic.get pool.residents < wanted && not (may_close pool) then
      match hire_first pool ~upto:(min wanted (pool.regulars - 1)) with
      | Hired -> note_hire pool
      | Taken -> ()
      | Refused ->
        let there = min allowed (Atomic.get pool.residents) in
        ignore (Atomic.compare_and_set pool.allowed allowed there)
  end

(* {2 Creation} *)

let push_atomic cell x = change cell (fun old -> x :: old)
let forget pool = change open_pools (List.filter (fun p -> p != pool))

let find name =
  List.find_opt (fun (p : t) -> p.name = name) (Atomic.get open_pools)

let pools_made = Atomic.make 0

let choose_size ~oversubscribe wanted =
  if oversubscribe then wanted else min wanted (Atomic.get Staff.cpus)

let guests = 14

(* The runtime ends the program where it cannot have the memory, for 128 such heaps. It names this
   bound (Max_minor_heap_wsz), and does not keep to it. *)
let most_heap_words = 1 lsl 28

let check_create ~domains ~minor_heap_words =
  let positive what = function
    | Some n when n < 1 -> invalid "Pool.create" "%s = %d is less than 1" what n
    | _ -> ()
  in
  let at_most what most = function
    | Some n when n > most -> invalid "Pool.create" "%s = %d is more than %d" what n most
    | _ -> ()
  in
  positive "domains" domains;
  positive "minor_heap_words" minor_heap_words;
  at_most "minor_heap_words" most_heap_words minor_heap_words

let note_size (pool : t) ~least =
  let size = Atomic.get pool.size and available = Atomic.get Staff.cpus in
  let asked = if pool.wanted = max_int then "" else Printf.sprintf "%d asked for" pool.wanted in
  let why =
    if size < least then "the runtime gave no more domains"
    else if pool.insists then asked ^ ", ~oversubscribe"
    else if pool.wanted <= available then asked
    else
      let usable = "the process may use " ^ Staff.plural available "CPU" in
      if asked = "" then usable else asked ^ ", " ^ usable
  in
  Staff.decide ~pool:pool.name (Staff.plural size "worker") why

let set_heap (pool : t) words =
  Heap.set words;
  let why =
    if pool.minor_heap <> None then "the pool's creator has or wants so"
    else "several workers stop each other at every minor collection"
  in
  Staff.decide ~pool:pool.name (Printf.sprintf "minor heaps of %d words" words) why

(* As many as the runtime can give; the size says how many that are. *)
let staff (pool : t) ~size =
  Atomic.set pool.size size;
  Atomic.set pool.reach size;
  Atomic.set pool.allowed (size - 1);
  push_atomic open_pools pool;
  if size > 1 && Staff.has_room pool then begin
    let rec from i = if i < size && spawn pool pool.workers.(i) = Hired then from (i + 1) else i in
    let hired = from 1 in
    Atomic.set pool.size hired;
    Atomic.set pool.allowed (hired - 1)
  end
  else if size > 1 then Staff.lend_for (Machine.now ());
  note_size pool ~least:size;
  if Place.alone pool.workers.(0) then set_quiet pool.workers.(0) 1

(* Places for as many as the machine has CPUs: the process may come to use them all. *)
let create ?name ?domains ?(oversubscribe = false) ?minor_heap_words () =
  check_create ~domains ~minor_heap_words;
  Machine.note_signals ();
  Staff.refresh_cpus (Machine.now ());
  Machine.look_up_every Place.index_in_state Staff.every;
  let wanted = Option.value domains ~default:max_int in
  let wanted = if oversubscribe && domains = None then Atomic.get Staff.cpus else wanted in
  let size = choose_size ~oversubscribe wanted in
  let number = Atomic.fetch_and_add pools_made 1 in
  let name = match name with Some n -> n | None -> Printf.sprintf "pool-%d" number in
  let most = if oversubscribe then size else min wanted (max size Staff.online) in
  let regulars = min (max 2 most) (Cpu.runtime_limit ()) in
  let places = regulars + guests in
  let pauses = if size > Atomic.get Staff.cpus then 0 else 10 in
  let pool =
    make_pool ~name ~wanted ~insists:oversubscribe ~minor_heap:(Heap.wanted minor_heap_words)
      ~regulars ~places ~pauses ~hire:hire_one ~stand_in
  in
  pool.workers <- Array.init places (make pool);
  Option.iter (set_heap pool) (Heap.of_creator pool ~size);
  staff pool ~size:(min size regulars);
  pool

(* {2 Closing} *)

let refuse_own_close pool =
  if own_place pool <> None then
    invalid "Pool.close" "called from a task of pool %S, which it would wait for" pool.name

let finish_what_is_left pool =
  if Atomic.get pool.residents = 0 then
    Option.iter (fun visit -> leave_after visit ()) (try_enter pool)

(* Sleeps between looks, not in [Domain.join]: Ctrl-C can end it. *)
let wait_until_left pool =
  let is_left w = w.resident || Atomic.get w.owner = 0 in
  let sleeper = Machine.Sleeper.create () in
  push_atomic pool.leaving sleeper;
  Parking.wake_all pool.parking;
  let is_over () =
    Atomic.get pool.residents = 0 && may_close pool && Array.for_all is_left pool.workers
  in
  while not (is_over ()) do
    if Atomic.get pool.residents = 0 && not (nothing_left pool) then finish_what_is_left pool;
    ignore (Machine.Sleeper.sleep sleeper 20)
  done

let close pool =
  refuse_own_close pool;
  Atomic.set pool.closing true;
  finish_what_is_left pool;
  wait_until_left pool;
  Array.iter (fun w -> Option.iter Domain.join (Atomic.exchange w.domain None)) pool.workers;
  forget pool;
  Uncaught.flush ~pool:pool.name ()

(* {2 Working in one} *)

let default_pool : t option Atomic.t = Atomic.make None

(* No lock: a signal's handler or a finaliser may come here while its thread is here. Who comes
   too late closes what it made. *)
let rec default () =
  match Atomic.get default_pool with
  | Some pool when not (Atomic.get pool.closing) -> pool
  | seen ->
    let mine = create ~name:"default" () in
    if not (Atomic.compare_and_set default_pool seen (Some mine)) then close mine;
    default ()

(* The current pool, for who finds this place by storage. That of the thread's own place, if it has one
   which storage does not show; else it may be that of another thread of the same domain, who may
   close it. *)
let of_place w =
  match owned_place () with
  | Some mine -> mine.pool
  | None -> if w == nobody || Atomic.get w.pool.closing then default () else w.pool

let rec with_current ~in_place f =
  Room.make ();
  match owned_place () with
  | Some w -> f w
  | None ->
    let w = current () in
    let if_closed = if w == nobody then None else Some (fun () -> with_current ~in_place f) in
    with_worker ?if_closed "Pool.run" (of_place w) ~in_place f

let run pool f =
  if inside pool then f ()
  else with_worker "Pool.run" pool ~in_place:f (in_fiber_to_end f)

let with_ ?name ?domains ?oversubscribe f =
  let pool = create ?name ?domains ?oversubscribe () in
  Outcome.finally close pool (fun () -> f pool)

(* Last: its fields have names that are also a place's. *)
include Stats
