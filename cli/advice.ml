open Muster_core

let plural n noun = Printf.sprintf "%d %s%s" n noun (if n = 1 then "" else "s")
let cpus quota = Printf.sprintf "%g CPU%s" quota (if quota = 1. then "" else "s")

let source : Facts.source -> string = function
  | Runtime_default -> "the runtime's default"
  | Parameters -> "set by OCAMLRUNPARAM"

(* {2 The plan} *)

let by_affinity (cpu : Cpu.report) =
  let at_limit = cpu.affinity = cpu.runtime_limit in
  let most = if at_limit then ", the most that OCaml can use" else "" in
  Printf.sprintf "%s by affinity%s" (plural cpu.affinity "CPU") most

let by_quota = function
  | Some { Cpu.cpus = Some quota; file } ->
    Printf.sprintf "a cgroup quota of %s (%s)" (cpus quota) file
  | _ -> "no cgroup quota"

let reason (cpu : Cpu.report) =
  match cpu.override with
  | Domains n when n > cpu.available ->
    Printf.sprintf "MUSTER_DOMAINS asks for %d, and OCaml can have %s" n
      (plural cpu.runtime_limit "domain")
  | Domains n -> Printf.sprintf "MUSTER_DOMAINS asks for %d" n
  | Unset | Ignored _ -> Printf.sprintf "%s, %s" (by_affinity cpu) (by_quota cpu.quota)

let plan (cpu : Cpu.report) =
  let caller's_part =
    match cpu.available with
    | 1 -> " Everything runs in the caller, as in a sequential program."
    | 2 ->
      " The calling thread is one of them: while it blocks in a task, half of the pool is idle \
       (Task.blocking avoids that)."
    | _ -> ""
  in
  Printf.sprintf "The default pool will run %s: %s.%s" (plural cpu.available "worker") (reason cpu)
    caller's_part

(* {2 The policies} *)

let sees (sight : Facts.sight) =
  match (sight.run_queue_wait, sight.runnable) with
  | true, Some _ when sight.whole_machine ->
    "how long each worker waits for a CPU, and how long CPUs have nothing to run"
  | true, _ -> "how long each worker waits for a CPU, but not whether one is free"
  | false, Some _ when sight.whole_machine ->
    "how long CPUs have nothing to run, but not whether a worker waits"
  | false, _ -> "nothing of the machine's other work"

let of_load ~cpus ~online runnable =
  let room = min cpus (1 + max 0 (online - runnable)) in
  let wanted =
    Printf.sprintf "%s for %s, this program's among them"
      (plural runnable "runnable thread")
      (plural online "CPU")
  in
  if room = cpus then Printf.sprintf "It would use %s now: %s." (plural cpus "CPU") wanted
  else
    Printf.sprintf "It would use %d of %s now: %s. It takes a CPU back when one is free." room
      (plural cpus "CPU") wanted

let beside_others (facts : Facts.t) =
  let sight = facts.sight and cpus = facts.cpu.available in
  match (sight.governor, sight.runnable) with
  | _ when cpus = 1 -> "It has no worker that could step aside for other programs."
  | Off, _ -> "MUSTER_GOVERNOR=off: it uses its CPUs whatever other programs run."
  | Random, _ -> "MUSTER_GOVERNOR=random: it uses any number of CPUs, which is for tests."
  | On, Some runnable when sight.whole_machine -> of_load ~cpus ~online:sight.online runnable
  | On, _ when sight.run_queue_wait ->
    "It would lend a CPU to other programs if its workers waited for one half of the time, and try \
     later to take it back."
  | On, _ -> "It uses its CPUs whatever other programs run."

let heap (facts : Facts.t) =
  match facts.minor_heap_source with
  | _ when facts.cpu.available = 1 -> "The minor heap stays as it is: no worker stops another."
  | Parameters -> "Minor heaps stay as OCAMLRUNPARAM has set them."
  | Runtime_default when facts.minor_heap_room < Heap.larger ->
    "Minor heaps stay as they are: the address space has no room for larger ones (ulimit -v)."
  | Runtime_default ->
    Printf.sprintf
      "Minor heaps have %d words: each collection stops all workers, and larger heaps have fewer."
      Heap.larger

let idle =
  Printf.sprintf
    "A worker without work sleeps after 60 us. Its domain ends after %d ms, and a new one starts \
     when there is work."
    Sleep.idle_ms

(* {2 Warnings} *)

let when_ condition text = if condition then [ text () ] else []
let usable_time (cpu : Cpu.report) quota = Float.min quota (float_of_int cpu.affinity)

let ignored_override (cpu : Cpu.report) =
  match cpu.override with
  | Ignored value ->
    [
      Printf.sprintf
        "MUSTER_DOMAINS=%s is ignored: it is not a whole number from 1. Correct it, or unset it."
        (String.escaped value);
    ]
  | Unset | Domains _ -> []

let ignored_governor (sight : Facts.sight) =
  match sight.ignored_governor with
  | Some value ->
    [
      Printf.sprintf "MUSTER_GOVERNOR=%s is ignored: it can only be off. Correct it, or unset it."
        (String.escaped value);
    ]
  | None -> []

let tight_quota (cpu : Cpu.report) =
  match cpu.quota with
  | Some { cpus = Some quota; file } when quota < float_of_int cpu.affinity ->
    [
      Printf.sprintf
        "The cgroup quota of %s is less than the %s of the affinity mask. Muster obeys the quota. A \
         program that starts Domain.recommended_domain_count domains has %d of them, and is stopped \
         for a part of every period. The quota is set in %s."
        (cpus quota) (plural cpu.affinity "CPU") cpu.affinity file;
    ]
  | _ -> []

(* For a quarter of a CPU the pool has one worker more. *)
let more_workers_than_cpus (cpu : Cpu.report) =
  let quota = Option.bind cpu.quota (fun reading -> reading.cpus) in
  let time = usable_time cpu (Option.value quota ~default:infinity) in
  when_
    (float_of_int cpu.available > time && cpu.available > 1)
    (fun () ->
      Printf.sprintf
        "%s on %s: whenever one is not running, the others wait for it at every minor collection. \
         %s"
        (plural cpu.available "worker") (cpus time)
        (match cpu.override with
        | Domains _ -> "Unset MUSTER_DOMAINS, or lower it."
        | _ -> "If that slows your program down, set MUSTER_DOMAINS one lower."))

(* Below that fork-join of which nothing survives takes 1.15 times as long and more. *)
let small_heap_words = 131_072

let small_minor_heap (facts : Facts.t) =
  let smallest = List.fold_left min max_int facts.pool.minor_heaps in
  when_
    (facts.pool.workers > 1 && smallest < small_heap_words)
    (fun () ->
      Printf.sprintf
        "A minor heap has %d words: every minor collection stops all workers, and small heaps have \
         many. Leave s= out of OCAMLRUNPARAM, or give s=1M."
        smallest)

let fewer_workers_than_planned (facts : Facts.t) =
  when_ (facts.pool.workers < facts.cpu.available) (fun () ->
      Printf.sprintf
        "Only %s of %d could be started. Look at the limits on threads and memory (ulimit -a)."
        (plural facts.pool.workers "worker")
        facts.cpu.available)

let thread_sanitizer (facts : Facts.t) =
  when_ facts.ocaml.thread_sanitizer (fun () ->
      "This OCaml is built with ThreadSanitizer: programs are several times slower. Measure with \
       another one.")

let unheeded_neighbours (facts : Facts.t) =
  let { Facts.governor; runnable; online; whole_machine; _ } = facts.sight in
  match runnable with
  | Some threads when governor = Off && whole_machine && threads > online && facts.cpu.available > 1
    ->
    [
      Printf.sprintf
        "%s want to run on %s, and MUSTER_GOVERNOR=off keeps workers from stepping aside: every \
         minor collection waits for workers without a CPU. Unset it."
        (plural threads "thread") (plural online "CPU");
    ]
  | _ -> []

let warnings (facts : Facts.t) =
  List.concat
    [
      ignored_override facts.cpu;
      ignored_governor facts.sight;
      tight_quota facts.cpu;
      more_workers_than_cpus facts.cpu;
      fewer_workers_than_planned facts;
      small_minor_heap facts;
      unheeded_neighbours facts;
      thread_sanitizer facts;
    ]
