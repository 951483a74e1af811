module Cpu = Muster_core.Cpu

let line name value = Printf.sprintf "  %-16s %s\n" name value
let on_off flag = if flag then "on" else "off"

let cgroup_file (reading : Cpu.reading) =
  let says = function Some cpus -> Printf.sprintf "%g CPUs" cpus | None -> "no limit" in
  Printf.sprintf "  %-16s   %s: %s\n" "" reading.file (says reading.cpus)

let quota (cpu : Cpu.report) =
  match (cpu.quota, cpu.readings) with
  | Some { cpus = Some quota; _ }, _ -> Printf.sprintf "%g CPUs, the least of" quota
  | _, [] -> "none: this process is in no cgroup that has one"
  | _ -> "none"

let override : Cpu.override -> string = function
  | Unset -> "not set"
  | Domains n -> string_of_int n
  | Ignored value -> Printf.sprintf "%S, ignored" value

let cpus (cpu : Cpu.report) =
  let before = [ line "affinity" (Advice.plural cpu.affinity "CPU"); line "quota" (quota cpu) ] in
  let after =
    [
      line "MUSTER_DOMAINS" (override cpu.override);
      line "OCaml's limit" (Advice.plural cpu.runtime_limit "domain");
    ]
  in
  "CPUs\n" ^ String.concat "" (before @ List.map cgroup_file cpu.readings @ after)

let ocaml (facts : Facts.t) =
  let ocaml = facts.ocaml in
  let version = Printf.sprintf "%s (%s, %s)" ocaml.version ocaml.architecture ocaml.system in
  let minor_heap =
    Printf.sprintf "%d words, %s" facts.minor_heap (Advice.source facts.minor_heap_source)
  in
  String.concat ""
    [
      "OCaml\n";
      line "version" version;
      line "flambda" (on_off ocaml.flambda);
      line "ThreadSanitizer" (on_off ocaml.thread_sanitizer);
      line "OCAMLRUNPARAM" (Option.fold ocaml.parameters ~none:"not set" ~some:String.escaped);
      line "backtraces" (on_off ocaml.backtraces);
      line "minor heap" minor_heap;
    ]

let worker_heaps (pool : Facts.pool) =
  match pool.minor_heaps with
  | first :: rest when List.for_all (( = ) first) rest ->
    Printf.sprintf "%d words of minor heap each" first
  | heaps ->
    let words = String.concat ", " (List.map string_of_int heaps) in
    Printf.sprintf "minor heaps of %s words" words

let trial (pool : Facts.pool) =
  let { Muster.Pool.workers; size; waits; waited_seconds; _ } = pool.trial in
  Printf.sprintf
    "  A trial just now: %s started, with %s. After some work %d of %d were present, with %s for a \
     CPU%s.\n"
    (Advice.plural pool.workers "worker")
    (worker_heaps pool) workers size (Advice.plural waits "wait")
    (if waits = 0 then "" else Printf.sprintf " (%.1f ms)" (1e3 *. waited_seconds))

let decision { Muster.Pool.what; why; _ } = Printf.sprintf "    %s: %s\n" what why

let decisions (pool : Facts.pool) =
  let made = List.map decision pool.trial.decisions in
  "  What the pool decided meanwhile, and why:\n" ^ String.concat "" made

let paragraph text = Printf.sprintf "  %s\n" text

let pool (facts : Facts.t) =
  String.concat ""
    [
      "Pool\n";
      paragraph (Advice.plan facts.cpu);
      paragraph ("The pool sees " ^ Advice.sees facts.sight ^ ".");
      paragraph (Advice.beside_others facts);
      paragraph (Advice.heap facts);
      paragraph Advice.idle;
      trial facts.pool;
      decisions facts.pool;
    ]

let warnings facts =
  match Advice.warnings facts with
  | [] -> "No warnings.\n"
  | texts -> "Warnings\n" ^ String.concat "" (List.map (Printf.sprintf "  - %s\n") texts)

let of_facts (facts : Facts.t) =
  String.concat "\n"
    [
      Printf.sprintf "Muster %s\n" facts.muster;
      cpus facts.cpu;
      ocaml facts;
      pool facts;
      warnings facts;
    ]
