(* Closing. The closer sets [closing], then wakes all workers. Residents go on until deques and
   inbox are empty and no task is suspended. A sender counts itself in [suspended] while it looks at
   [closing] and sends, so that a task is either refused or seen by a resident. Each worker that
   leaves wakes the threads that close the pool. They join the domains once no worker is in it. *)

module P = Place

type t = P.pool

let size (pool : t) = Atomic.get pool.size
let name (pool : t) = pool.name
let equal : t -> t -> bool = ( == )

(* {2 Creation} *)

(* A closing pool stays in the list until all of its tasks have ended. *)
let find name =
  let is_it (pool : t) = pool.name = name && not (Atomic.get pool.closing) in
  List.find_opt is_it (Atomic.get P.open_pools)

let pools_made = Atomic.make 0

(* The runtime ends the program where it cannot have the memory, for 128 such heaps. It names this
   bound (Max_minor_heap_wsz), and does not keep to it. *)
let most_heap_words = 1 lsl 28

(* [fn] is the function that was called, here and in [close_of]. *)
let check_create fn ~domains ~minor_heap_words =
  let check what ~most n =
    if n < 1 then Caller.invalid fn "%s = %d is less than 1" what n;
    if n > most then Caller.invalid fn "%s = %d is more than %d" what n most
  in
  Option.iter (check "domains" ~most:max_int) domains;
  Option.iter (check "minor_heap_words" ~most:most_heap_words) minor_heap_words

let note_size (pool : t) ~least =
  let size = Atomic.get pool.size and available = Cpus.usable () in
  let asked n = Printf.sprintf "%d asked for" n in
  let usable = "the process may use " ^ Load.plural available "CPU" in
  let why =
    match pool.settings.wanted with
    | _ when size < least -> "the runtime gave no more domains"
    | Exactly n -> asked n ^ ", ~oversubscribe"
    | At_most n when n <= available -> asked n
    | At_most n -> if n = max_int then usable else asked n ^ ", " ^ usable
  in
  Load.decide ~pool Workers (Load.plural size "worker") why

let set_heap (pool : t) words =
  Heap.set words;
  let why =
    (* The runtime rounds up. *)
    if Heap.words () < words then "no address space for more: ulimit -v"
    else if pool.settings.minor_heap <> None then "the pool's creator has or wants so"
    else "several workers stop each other at every minor collection"
  in
  Load.decide ~pool Heaps (Printf.sprintf "minor heaps of %d words" (Heap.words ())) why

(* As many workers as the runtime can give; the size says how many that are. Nobody finds the pool
   before: another thread might close it. The size was chosen for so many [cpus]. *)
let staff (pool : t) ~size ~cpus =
  let employ n =
    P.set_size pool n;
    Budget.allow pool (n - 1)
  in
  employ size;
  let has_room = size = 1 || Load.has_room pool in
  if has_room then employ (Resident.hire_all pool ~size);
  P.change P.open_pools (List.cons pool);
  if Cpus.usable () <> cpus then Load.resize pool;
  if not has_room then Load.share_out ();
  note_size pool ~least:size;
  Load.note_shortage ();
  let w = (P.workers pool).(0) in
  if P.alone w then Publish.set_quiet w 1

(* Places for a caller and as many residents as the machine has CPUs: the process may come to use
   them all; and for as many residents as its tasks may count on. *)
let count_regulars ~size ~wanted ~promised ~oversubscribe =
  let most = if oversubscribe then size else Int.min wanted (Int.max size Load.online) in
  1 + Int.min (Int.max most promised) (Machine.runtime_limit () - 1)

let () = Sleep.help := { hire = Resident.hire_one; watch = Watchdog.start }

let make ~promised ?name ?domains ?(oversubscribe = false) ?minor_heap_words () =
  check_create "Pool.create" ~domains ~minor_heap_words;
  Machine.note_signals ();
  Load.refresh_cpus (Machine.now ());
  Machine.look_up_every P.index_in_state Load.every;
  let cpus = Cpus.usable () and number = Atomic.fetch_and_add pools_made 1 in
  let wanted = Option.value domains ~default:(if oversubscribe then cpus else max_int) in
  let size = if oversubscribe then wanted else Int.min wanted cpus in
  let regulars = count_regulars ~size ~wanted ~promised ~oversubscribe in
  let pool =
    P.make_pool
      ~name:(Option.value name ~default:(Printf.sprintf "pool-%d" number))
      {
        number;
        wanted = (if oversubscribe then Exactly wanted else At_most wanted);
        minor_heap = Heap.choice minor_heap_words;
        regulars;
      }
  in
  Option.iter (set_heap pool) (Heap.for_workers ~chosen:pool.settings.minor_heap ~workers:size);
  staff pool ~size:(Int.min size regulars) ~cpus;
  pool

let create = make ~promised:0
let create_promising ?name ~domains () = make ~promised:(domains - 1) ?name ~domains ()

(* {2 Closing} *)

(* Where no resident can be had, the closing thread runs the tasks that wait. *)
let finish_tasks (pool : P.pool) =
  if Atomic.get pool.residents = 0 then Caller.with_worker Here Stay pool ignore

(* This sleeps between looks, and not in [Domain.join], so that Ctrl-C can end it. *)
let wait_until_left (pool : P.pool) =
  let is_left (w : P.t) = w.resident || Atomic.get w.owner = 0 in
  let sleeper = Machine.Sleeper.create () in
  P.change pool.leaving (List.cons sleeper);
  Parking.wake_all pool.parking;
  let nobody_stays () = Atomic.get pool.residents = 0 in
  (* Again at the end: a party counted in [suspended] may have hired one (Publish.kept_open). *)
  let is_over () =
    nobody_stays () && Resident.may_close pool
    && Array.for_all is_left (P.workers pool)
    && nobody_stays ()
  in
  let rec wait ms =
    if not (is_over ()) then begin
      ignore (Timer.look ());
      if Sleep.something_is_left pool then finish_tasks pool;
      ignore (Machine.Sleeper.sleep sleeper ms);
      (* As a thread that waits outside does (Worker). *)
      if Sleep.a_task_waits pool then Sleep.hire pool;
      wait 20
    end
  in
  wait 1

let close_here (pool : P.pool) =
  finish_tasks pool;
  wait_until_left pool;
  (* Several may close at the same time, and each has to wait. *)
  Array.iter Resident.join (P.workers pool);
  P.change P.open_pools (List.filter (fun other -> other != pool));
  Load.note_shortage ();
  Uncaught.flush ~owner:pool.home.owner ();
  Report.at_end pool;
  (* Values that domains promote as they end drive no major collection: a program with a pool for
     each job would grow for ever. *)
  ignore (Gc.major_slice 0)

let closed = Event.make "Pool.close"

(* A fiber of another scheduler waits for a domain that does it: a thread of its loop's would run
   the tasks that are left beside the loop. *)
let close_elsewhere pool =
  let closing = Promise.(make nowhere (fun () -> close_here pool)) in
  match Machine.spawn (fun () -> ignore (Promise.run closing)) with
  | _ ->
    Caller.wait closed closing;
    Promise.result closing
  | exception Failure _ -> close_here pool

(* A task that ends the program would wait for itself in a function of [at_exit]. *)
let close_of fn (pool : P.pool) =
  let within = Caller.has_place pool in
  let refusal = Printf.sprintf "%s: called from a task of pool %S, which it would wait for" in
  if not (Atomic.get P.exits && (within || P.owned_place () = None)) then
    if within then invalid_arg (refusal fn pool.name)
    else begin
      Atomic.set pool.closing true;
      if Fiber.is_elsewhere () then close_elsewhere pool else close_here pool
    end

let close pool = close_of "Muster.Pool.close" pool

(* {2 Working in one} *)

let default_pool : t option Atomic.t = Atomic.make None

let default_domains : int option Atomic.t = Atomic.make None

let set_default ~domains =
  let fn = "Pool.set_default" in
  check_create fn ~domains:(Some domains) ~minor_heap_words:None;
  let is_open (pool : t) = not (Atomic.get pool.closing) in
  if Option.fold (Atomic.get default_pool) ~none:false ~some:is_open then
    Caller.invalid fn "the default pool has started";
  Atomic.set default_domains (Some domains)

let make_default seen =
  let mine = create ~name:"default" ?domains:(Atomic.get default_domains) () in
  if not (Atomic.compare_and_set default_pool seen (Some mine)) then close mine

(* Whether a thread makes it: the domains of several made at once could be more than the runtime
   has. Others wait, but for a second at most and for no lock: a signal's handler or a finaliser may
   come here while its own thread makes the pool. *)
let is_being_made = Atomic.make false

let made () = Atomic.set is_being_made false

let rec default_within ms =
  match Atomic.get default_pool with
  | Some pool when not (Atomic.get pool.closing) -> pool
  | seen ->
    let make () = make_default seen in
    (* Unbroken until the handler. *)
    if Atomic.compare_and_set is_being_made false true then Outcome.finally made () make ()
    else if ms > 0 then Machine.sleep_ms 1
    else make ();
    default_within (ms - 1)

let default () = default_within 1000

(* Storage may show another thread's place. *)
let current () = match P.owned_place () with Some w -> w.pool | None -> default ()

let rec with_current f =
  Stack_room.reserve ();
  match P.owned_place () with
  | Some w -> f w
  | None -> Caller.with_worker Anywhere (Instead (fun () -> with_current f)) (current ()) f

let with_branches f = with_current (fun w -> Fiber.in_call w f)
let run pool f = Caller.with_worker Anywhere (Refuse "Pool.run") pool (fun _ -> f ())

let with_ ?name ?domains ?oversubscribe f =
  check_create "Pool.with_" ~domains ~minor_heap_words:None;
  let pool = create ?name ?domains ?oversubscribe () in
  Outcome.finally close pool (fun () -> run pool (fun () -> f pool)) ()

include Stats
