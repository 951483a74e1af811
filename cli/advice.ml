module Cpu = Muster_core.Cpu

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
  let in_place =
    if cpu.available > 1 then ""
    else " Everything runs in the caller, as in a sequential program."
  in
  Printf.sprintf "The default pool will run %s: %s.%s"
    (plural cpu.available "worker")
    (reason cpu) in_place

(* {2 Warnings} *)

let when_ condition text = if condition then [ text () ] else []
let usable_time (cpu : Cpu.report) quota = Float.min quota (float_of_int cpu.affinity)

let ignored_override (cpu : Cpu.report) =
  match cpu.override with
  | Ignored value ->
    [
      Printf.sprintf
        "MUSTER_DOMAINS=%s is ignored: it is not a whole number from 1. Correct it, or \
         unset it."
        value;
    ]
  | Unset | Domains _ -> []

let tight_quota (cpu : Cpu.report) =
  match cpu.quota with
  | Some { cpus = Some quota; file } when quota < float_of_int cpu.affinity ->
    [
      Printf.sprintf
        "The cgroup quota of %s is less than the %s of the affinity mask. Muster heeds \
         it; a program that counts with Domain.recommended_domain_count sees %d and is \
         stopped for part of every period. The quota stands in %s."
        (cpus quota)
        (plural cpu.affinity "CPU")
        cpu.affinity file;
    ]
  | _ -> []

(* The pool rounds a quota to whole workers. *)
let more_workers_than_cpus (cpu : Cpu.report) =
  let quota = Option.bind cpu.quota (fun reading -> reading.cpus) in
  let time = usable_time cpu (Option.value quota ~default:infinity) in
  when_ (float_of_int cpu.available > time && cpu.available > 1) (fun () ->
      Printf.sprintf
        "%s on %s: whenever one is not running, the others wait for it at every minor \
         collection. %s"
        (plural cpu.available "worker") (cpus time)
        (match cpu.override with
        | Domains _ -> "Unset MUSTER_DOMAINS, or lower it."
        | _ -> "If that shows in your program, set MUSTER_DOMAINS one lower."))

let small_minor_heap (facts : Facts.t) =
  let smallest = List.fold_left min max_int facts.pool.minor_heaps in
  when_ (facts.pool.workers > 1 && smallest < 262_144) (fun () ->
      Printf.sprintf
        "A minor heap has %d words: every minor collection stops all workers, and small \
         heaps have many. Leave s= out of OCAMLRUNPARAM, or give s=1M."
        smallest)

let fewer_workers_than_planned (facts : Facts.t) =
  when_ (facts.pool.workers < facts.cpu.available) (fun () ->
      Printf.sprintf
        "Only %s of %d could be started. Look at the limits on threads and memory \
         (ulimit -a)."
        (plural facts.pool.workers "worker")
        facts.cpu.available)

let thread_sanitizer (facts : Facts.t) =
  when_ facts.ocaml.thread_sanitizer (fun () ->
      "This OCaml is built with ThreadSanitizer: programs are several times slower. \
       Measure with another one.")

let warnings (facts : Facts.t) =
  List.concat
    [
      ignored_override facts.cpu;
      tight_quota facts.cpu;
      more_workers_than_cpus facts.cpu;
      fewer_workers_than_planned facts;
      small_minor_heap facts;
      thread_sanitizer facts;
    ]
