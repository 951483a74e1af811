open Muster_core

type ocaml = {
  version : string;
  architecture : string;
  system : string;
  flambda : bool;
  thread_sanitizer : bool;
  backtraces : bool;
  parameters : string option;
}

type source = Runtime_default | Parameters
type governor = On | Off | Random

type sight = {
  run_queue_wait : bool;
  runnable : int option;
  online : int;
  whole_machine : bool;
  governor : governor;
  ignored_governor : string option;
}

type pool = { workers : int; minor_heaps : int list; trial : Muster.Pool.stats }

type t = {
  muster : string;
  ocaml : ocaml;
  cpu : Cpu.report;
  minor_heap : int;
  minor_heap_source : source;
  minor_heap_room : int;
  sight : sight;
  pool : pool;
}

let muster_version = Build.version

let ocaml () =
  {
    version = Sys.ocaml_version;
    architecture = Build.architecture;
    system = Build.system;
    flambda = Build.flambda;
    thread_sanitizer = Build.thread_sanitizer;
    backtraces = Printexc.backtrace_status ();
    parameters = Heap.parameters;
  }

let minor_heap () = (Gc.get ()).minor_heap_size

let minor_heap_room () = if Heap.has_room Heap.larger then Heap.larger else 0

(* It allocates, as workers look around when they collect. *)
let rec build depth = if depth = 0 then `Leaf else `Node (build (depth - 1), build (depth - 1))
let trial_ms = 60

let try_out () =
  let until = Machine.now () + (trial_ms * 1_000_000) in
  while Machine.now () < until do
    Muster.parallel_for ~start:1 ~finish:64 (fun _ -> ignore (Sys.opaque_identity (build 10)))
  done

(* proc(5): the loads, then "runnable/all". *)
let runnable () =
  match In_channel.with_open_bin "/proc/loadavg" In_channel.input_all with
  | text -> Scanf.sscanf_opt text "%_f %_f %_f %d" Fun.id
  | exception Sys_error _ -> None

let sight ~affinity =
  let online = Load.online in
  {
    run_queue_wait = Machine.run_queue_wait () >= 0;
    runnable = runnable ();
    online;
    whole_machine = affinity = online;
    governor = (match Load.mode with On -> On | Off -> Off | Random _ -> Random);
    ignored_governor = Load.ignored_mode;
  }

let worker_heaps pool =
  let words = Array.make (Muster.Pool.size pool) 0 in
  let note worker =
    (* A domain that starts for this call would take its heap after it. *)
    let place = Place.current () in
    if place.resident then Load.settle_heap place;
    words.(worker) <- minor_heap ()
  in
  Muster.Team.broadcast pool note;
  Array.to_list words

let started_pool () =
  let pool = Muster.Pool.default () in
  try_out ();
  let trial = Muster.Pool.stats pool in
  let minor_heaps = worker_heaps pool in
  { workers = List.length minor_heaps; minor_heaps; trial }

let gather () =
  let minor_heap = minor_heap () in
  let cpu = Cpu.report () in
  let sight = sight ~affinity:cpu.affinity in
  {
    muster = muster_version;
    ocaml = ocaml ();
    cpu;
    minor_heap;
    minor_heap_source = (if Heap.chosen_by_user then Parameters else Runtime_default);
    minor_heap_room = minor_heap_room ();
    sight;
    pool = started_pool ();
  }
