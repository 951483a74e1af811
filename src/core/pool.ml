(* A pool's life: how it starts, who works in it, how it ends. Callers come in by Visit.

   Closing. [closing] is set, then everybody is woken. Residents go on until nothing is left:
   deques and inbox empty, no task suspended. A sender counts itself in [suspended] while it
   looks at [closing] and sends, so that an item is either refused or seen by a resident. Each
   one who leaves wakes those who are closing; they join the domains once nobody is in. *)

open Place
open Worker
open Visit

type t = Place.pool

type stats = {
  size : int;
  tasks : int;
  forks : int;
  steals : int;
  parks : int;
  regions : int;
}

let size (pool : t) = Atomic.get pool.size
let name (pool : t) = pool.name

let stats (pool : t) =
  let w = current () in
  if w.pool == pool && owned w then publish_counts w;
  let total count = Array.fold_left (fun n w -> n + count (Atomic.get w.published)) 0 pool.workers in
  { size = size pool; tasks = total (fun c -> c.tasks); forks = total (fun c -> c.forks);
    steals = total (fun c -> c.steals); parks = total (fun c -> c.parks);
    regions = total (fun c -> c.regions) }

(* {2 Residents} *)

let nothing_left pool =
  Inbox.is_empty pool.inbox
  && Array.for_all (fun w -> Deque.is_empty w.deque) pool.workers

let may_leave pool () =
  Atomic.get pool.closing && Atomic.get pool.suspended = 0 && nothing_left pool

let rec serve_pool w =
  match work w ~until:(may_leave w.pool) with
  | () -> ()
  | exception exn -> stash w.pool exn; serve_pool w

let set_minor_heap words =
  let settings = Gc.get () in
  if settings.minor_heap_size <> words then Gc.set { settings with minor_heap_size = words }

let resident w minor_heap () =
  Option.iter set_minor_heap minor_heap;
  Atomic.set w.owner (Machine.thread_id ());
  Compat.set here w;
  Deque.move_in w.deque;
  serve_pool w;
  publish_counts w;
  (* Thread identities are used again. *)
  Atomic.set w.owner 0;
  Atomic.decr w.pool.residents;
  announce_leave w.pool

let rec push_atomic cell x =
  let old = Atomic.get cell in
  if not (Atomic.compare_and_set cell old (x :: old)) then push_atomic cell x

(* Whether the runtime could give a domain: it has 128 by default. *)
let spawn pool index minor_heap =
  Atomic.incr pool.residents;
  match Domain.spawn (resident pool.workers.(index) minor_heap) with
  | domain -> push_atomic pool.domains domain; true
  | exception (Failure _ | Out_of_memory) -> Atomic.decr pool.residents; false

let hiring = Mutex.create ()

let hire_one pool =
  if Atomic.get pool.residents = 0 && not (may_leave pool ()) then
    Mutex.protect hiring (fun () ->
        if Atomic.get pool.residents = 0 then ignore (spawn pool 1 None))

(* {2 Creation} *)

let open_pools : t list Atomic.t = Atomic.make []

let rec forget pool =
  let old = Atomic.get open_pools in
  let rest = List.filter (fun p -> p != pool) old in
  if not (Atomic.compare_and_set open_pools old rest) then forget pool

let find name = List.find_opt (fun (p : t) -> p.name = name) (Atomic.get open_pools)
let pools_made = Atomic.make 0
let default_minor_heap = 262_144
let parallel_minor_heap = 524_288

(* A user's own choice stands: given here, in OCAMLRUNPARAM or by Gc.set. *)
let choose_minor_heap ~size = function
  | Some words -> Some words
  | None ->
    let current = (Gc.get ()).minor_heap_size in
    if size > 1 && current = default_minor_heap then Some parallel_minor_heap
    else None

let choose_size ~oversubscribe = function
  | None -> Cpu.available ()
  | Some n -> if oversubscribe then n else min n (Cpu.available ())

let guests = 14

let check_create ~domains ~minor_heap_words =
  let positive what = function
    | Some n when n < 1 -> invalid "Pool.create" "%s = %d is less than 1" what n
    | _ -> ()
  in
  positive "domains" domains;
  positive "minor_heap_words" minor_heap_words

let staff pool ~size minor_heap =
  let rec from i = if i < size && spawn pool i minor_heap then from (i + 1) else i in
  let hired = if size > 1 then from 1 else 1 in
  Atomic.set pool.size hired;
  if hired = 1 then set_quiet pool.workers.(0) 1

let create ?name ?domains ?(oversubscribe = false) ?minor_heap_words () =
  check_create ~domains ~minor_heap_words;
  let size = choose_size ~oversubscribe domains in
  let number = Atomic.fetch_and_add pools_made 1 in
  let name = match name with Some n -> n | None -> Printf.sprintf "pool-%d" number in
  let regulars = min (max 2 size) (Cpu.runtime_limit ()) in
  let places = regulars + guests in
  let pauses = if size > Cpu.available () then 0 else 10 in
  let pool = make_pool ~name ~regulars ~places ~pauses ~hire:hire_one in
  pool.workers <- Array.init places (make pool);
  Atomic.set pool.size regulars;
  let minor_heap = choose_minor_heap ~size minor_heap_words in
  Option.iter set_minor_heap minor_heap;
  staff pool ~size:(min size regulars) minor_heap;
  push_atomic open_pools pool;
  pool

let default_pool : t option Atomic.t = Atomic.make None
let making_default = Mutex.create ()

let rec default () =
  match Atomic.get default_pool with
  | Some pool when not (Atomic.get pool.closing) -> pool
  | seen ->
    Mutex.protect making_default (fun () ->
        if Atomic.get default_pool == seen then
          Atomic.set default_pool (Some (create ~name:"default" ())));
    default ()

let with_current ~in_place f =
  let w = current () in
  if owned w then f w
  else with_worker "Pool.run" (if w == nobody then default () else w.pool) ~in_place f

let run pool f =
  if inside pool then f ()
  else with_worker "Pool.run" pool ~in_place:f (in_fiber_to_end f)

(* {2 Closing} *)

let refuse_own_close pool =
  if own_place pool <> None then
    invalid "Pool.close" "called from a task of pool %S, which it would wait for" pool.name

(* Sleeps between looks, not in [Domain.join]: Ctrl-C can end it. *)
let wait_until_left pool =
  let is_left w = w.resident || Atomic.get w.owner = 0 in
  let sleeper = Machine.Sleeper.create () in
  push_atomic pool.leaving sleeper;
  Parking.wake_all pool.parking;
  while Atomic.get pool.residents > 0 || not (Array.for_all is_left pool.workers) do
    Machine.Sleeper.sleep sleeper 20
  done

let finish_what_is_left pool =
  if Atomic.get pool.residents = 0 then
    Option.iter (fun visit -> leave_after visit ()) (try_enter pool)

let close pool =
  refuse_own_close pool;
  Atomic.set pool.closing true;
  finish_what_is_left pool;
  wait_until_left pool;
  List.iter Domain.join (Atomic.exchange pool.domains []);
  forget pool;
  Uncaught.flush ~pool:pool.name ()

let with_ ?name ?domains ?oversubscribe f =
  let pool = create ?name ?domains ?oversubscribe () in
  match f pool with
  | result -> close pool; result
  | exception exn ->
    let failure = Outcome.caught exn in
    close pool;
    Outcome.raise failure
