(* A pool's life: how it is made, how callers use it, how it ends.

   Closing. [closing] is set, then everybody is woken. Residents go on until nothing is left:
   deques and inbox empty, no task suspended. A sender counts itself in [suspended] while it
   looks at [closing] and sends, so that an item is either refused or seen by a resident. Each
   one who leaves wakes those who are closing; they join the domains once nobody is in. *)

module P = Place

type t = P.pool

let size (pool : t) = Atomic.get pool.size

(* {2 Creation} *)

let push_atomic cell x = P.change cell (fun old -> x :: old)

let forget pool =
  P.change P.open_pools (List.filter (fun p -> p != pool));
  Load.note_shortage ()

(* One that is closing stays in the list until all of its tasks have ended. *)
let find name =
  let is_it (pool : t) = pool.name = name && not (Atomic.get pool.closing) in
  List.find_opt is_it (Atomic.get P.open_pools)

let pools_made = Atomic.make 0
let choose_size ~oversubscribe ~cpus wanted = if oversubscribe then wanted else Int.min wanted cpus

(* The runtime ends the program where it cannot have the memory, for 128 such heaps. It names this
   bound (Max_minor_heap_wsz), and does not keep to it. *)
let most_heap_words = 1 lsl 28

(* [fn] is who was called, here and in [close_of]. *)
let check_create fn ~domains ~minor_heap_words =
  let positive what = function
    | Some n when n < 1 -> Caller.invalid fn "%s = %d is less than 1" what n
    | _ -> ()
  in
  let at_most what most = function
    | Some n when n > most -> Caller.invalid fn "%s = %d is more than %d" what n most
    | _ -> ()
  in
  positive "domains" domains;
  positive "minor_heap_words" minor_heap_words;
  at_most "minor_heap_words" most_heap_words minor_heap_words

let note_size (pool : t) ~least =
  let size = Atomic.get pool.size and available = Load.cpus () in
  let asked n = Printf.sprintf "%d asked for" n in
  let usable = "the process may use " ^ Load.plural available "CPU" in
  let why =
    match pool.settings.wanted with
    | _ when size < least -> "the runtime gave no more domains"
    | Exactly n -> asked n ^ ", ~oversubscribe"
    | At_most n when n <= available -> asked n
    | At_most n -> if n = max_int then usable else asked n ^ ", " ^ usable
  in
  Load.decide ~pool (Load.plural size "worker") why

let set_heap (pool : t) words =
  Heap.set ~lasting:(pool.settings.minor_heap <> None) words;
  let why =
    (* The runtime rounds up. *)
    if Heap.words () < words then "no address space for more: ulimit -v"
    else if pool.settings.minor_heap <> None then "the pool's creator has or wants so"
    else "several workers stop each other at every minor collection"
  in
  Load.decide ~pool (Printf.sprintf "minor heaps of %d words" (Heap.words ())) why

(* As many as the runtime can give; the size says how many that are. Nobody finds the pool before:
   who does may close it. [cpus]: what its size was chosen for. *)
let staff (pool : t) ~size ~cpus =
  P.set_size pool size;
  P.allow pool (size - 1);
  let has_room = size = 1 || Load.has_room pool in
  if has_room then begin
    let is_hired i = Resident.spawn pool (P.workers pool).(i) = Hired in
    let rec from i = if i < size && is_hired i then from (i + 1) else i in
    let hired = from 1 in
    P.set_size pool hired;
    P.allow pool (hired - 1)
  end;
  push_atomic P.open_pools pool;
  if Load.cpus () <> cpus then Load.resize pool;
  if not has_room then Load.share_out ();
  note_size pool ~least:size;
  Load.note_shortage ();
  let w = (P.workers pool).(0) in
  if P.alone w then Publish.set_quiet w 1

let choose_name name number =
  match name with Some n -> n | None -> Printf.sprintf "pool-%d" number

(* Places for as many as the machine has CPUs: the process may come to use them all; and for as many
   residents as its tasks may count on. *)
let count_regulars ~size ~wanted ~promised ~oversubscribe =
  let most = if oversubscribe then size else Int.min wanted (Int.max size Load.online) in
  Int.min (Int.max 2 (Int.max most (promised + 1))) (Cpu.runtime_limit ())

let look_at_machine () =
  Machine.note_signals ();
  Load.refresh_cpus (Machine.now ());
  Machine.look_up_every P.index_in_state Load.every

let () = Sleep.help := { hire = Resident.hire_one; watch = Watchdog.start }

let create_promising promised ?name ?domains ?(oversubscribe = false) ?minor_heap_words () =
  check_create "Pool.create" ~domains ~minor_heap_words;
  look_at_machine ();
  let cpus = Load.cpus () in
  let unbound = if oversubscribe then cpus else max_int in
  let wanted = Option.value domains ~default:unbound in
  let size = choose_size ~oversubscribe ~cpus wanted in
  let number = Atomic.fetch_and_add pools_made 1 in
  let regulars = count_regulars ~size ~wanted ~promised ~oversubscribe in
  let pool =
    P.make_pool ~name:(choose_name name number)
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

let create = create_promising 0

(* {2 Closing} *)

let is_own_task (pool : t) = Caller.own_place pool <> None

let refuse_own_close fn (pool : t) =
  if is_own_task pool then
    Printf.ksprintf invalid_arg "%s: called from a task of pool %S, which it would wait for" fn
      pool.name

let finish_what_is_left (pool : P.pool) =
  if Atomic.get pool.residents = 0 then
    match Caller.try_enter pool with Some visit -> Caller.leave_after visit () | None -> ()

(* Sleeps between looks, not in [Domain.join]: Ctrl-C can end it. *)
let wait_until_left (pool : P.pool) =
  let is_left (w : P.t) = w.resident || Atomic.get w.owner = 0 in
  let sleeper = Machine.Sleeper.create () in
  push_atomic pool.leaving sleeper;
  Parking.wake_all pool.parking;
  let nobody_stays () = Atomic.get pool.residents = 0 in
  (* Again at the end: who was counted in [suspended] may have hired one (Publish.kept_open). *)
  let is_over () =
    nobody_stays () && Resident.may_close pool
    && Array.for_all is_left (P.workers pool)
    && nobody_stays ()
  in
  while not (is_over ()) do
    ignore (Timer.look ());
    if not (Resident.nothing_left pool) then finish_what_is_left pool;
    ignore (Machine.Sleeper.sleep sleeper 20)
  done

let close_of fn (pool : P.pool) =
  refuse_own_close fn pool;
  Atomic.set pool.closing true;
  finish_what_is_left pool;
  wait_until_left pool;
  (* Several may close at the same time, and each has to wait. *)
  Array.iter Resident.join_all (P.workers pool);
  forget pool;
  Uncaught.flush ~owner:pool.home.owner ()

let close pool = close_of "Muster.Pool.close" pool

(* {2 Working in one} *)

let default_pool : t option Atomic.t = Atomic.make None

(* Who makes it: a thread, or 0. The domains of several made at once could be more than the runtime
   has, and the one that stays would have to do with what it got. So others wait, but not for ever
   and for no lock: a signal's handler or a finaliser may come here while its thread is here, and
   wait for who waits. Who comes too late closes what it made. *)
let maker = Atomic.make 0
let longest_making = 1000
let unmade (pool : t option) = match pool with None -> true | Some pool -> Atomic.get pool.closing

let make_default () =
  let seen = Atomic.get default_pool in
  if unmade seen then
    let mine = create ~name:"default" () in
    if not (Atomic.compare_and_set default_pool seen (Some mine)) then close mine

(* Between becoming the maker and the handler nothing allocates. *)
let make_default_alone me =
  let no_longer () = Atomic.set maker 0 in
  if Atomic.compare_and_set maker 0 me then Outcome.finally no_longer () make_default
  else if Atomic.get maker = me then make_default ()
  else ignore Machine.Sleeper.(sleep (create ()) 1)

let rec default_within ms =
  match Atomic.get default_pool with
  | Some pool when not (Atomic.get pool.closing) -> pool
  | _ ->
    if ms > 0 then make_default_alone (Machine.thread_id ()) else make_default ();
    default_within (ms - 1)

let default () = default_within longest_making

(* What storage shows may be another thread's. *)
let current () =
  match P.owned_place () with Some w -> w.pool | None -> default ()

let rec with_current ~in_place f =
  Stack_room.reserve ();
  match P.owned_place () with
  | Some w -> f w
  | None ->
    let if_closed () = with_current ~in_place f in
    Caller.with_worker ~if_closed "Pool.run" (current ()) ~in_place f

let run pool f =
  if Caller.inside pool then f ()
  else Caller.with_worker "Pool.run" pool ~in_place:f (fun _ -> f ())

let with_ ?name ?domains ?oversubscribe f =
  check_create "Pool.with_" ~domains ~minor_heap_words:None;
  let pool = create ?name ?domains ?oversubscribe () in
  Outcome.finally close pool (fun () -> f pool)

include Stats
