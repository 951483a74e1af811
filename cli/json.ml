module Cpu = Muster_core.Cpu

let optional f = function None -> `Null | Some x -> f x
let strings texts = `List (List.map (fun text -> `String text) texts)

let reading (reading : Cpu.reading) =
  `Assoc [ ("file", `String reading.file); ("cpus", optional (fun n -> `Float n) reading.cpus) ]

let override : Cpu.override -> Yojson.Basic.t = function
  | Unset -> `Null
  | Domains n -> `Int n
  | Ignored value -> `Assoc [ ("ignored", `String value) ]

let cpus (cpu : Cpu.report) =
  `Assoc
    [
      ("affinity", `Int cpu.affinity);
      ("quota", optional reading cpu.quota);
      ("cgroup_files", `List (List.map reading cpu.readings));
      ("muster_domains", override cpu.override);
      ("runtime_limit", `Int cpu.runtime_limit);
      ("available", `Int cpu.available);
    ]

let ocaml (ocaml : Facts.ocaml) =
  `Assoc
    [
      ("version", `String ocaml.version);
      ("architecture", `String ocaml.architecture);
      ("system", `String ocaml.system);
      ("flambda", `Bool ocaml.flambda);
      ("thread_sanitizer", `Bool ocaml.thread_sanitizer);
      ("ocamlrunparam", optional (fun text -> `String text) ocaml.parameters);
      ("backtraces", `Bool ocaml.backtraces);
    ]

let minor_heap (facts : Facts.t) =
  `Assoc
    [
      ("words", `Int facts.minor_heap);
      ("from", `String (Advice.source facts.minor_heap_source));
      ("room_for_words", `Int facts.minor_heap_room);
    ]

let governor : Facts.governor -> Yojson.Basic.t = function
  | On -> `String "on"
  | Off -> `String "off"
  | Random -> `String "random"

let sight (sight : Facts.sight) =
  `Assoc
    [
      ("run_queue_wait", `Bool sight.run_queue_wait);
      ("runnable_threads", optional (fun n -> `Int n) sight.runnable);
      ("online_cpus", `Int sight.online);
      ("whole_machine", `Bool sight.whole_machine);
      ("governor", governor sight.governor);
      ("ignored_governor", optional (fun text -> `String text) sight.ignored_governor);
    ]

let decision { Muster.Pool.seconds_ago; what; why } =
  `Assoc [ ("seconds_ago", `Float seconds_ago); ("what", `String what); ("why", `String why) ]

let worker (w : Muster.Pool.worker) =
  `Assoc
    [
      ("worker", `Int w.worker);
      ("is_caller", `Bool w.is_caller);
      ("ran", `Int w.ran);
      ("stole", `Int w.stole);
      ("busy_seconds", `Float w.busy_seconds);
      ("idle_seconds", `Float w.idle_seconds);
    ]

let trial (stats : Muster.Pool.stats) =
  `Assoc
    [
      ("workers", `Int stats.workers);
      ("each_worker", `List (List.map worker stats.each_worker));
      ("allowed", `Int stats.allowed);
      ("cpus", `Int stats.cpus);
      ("cpus_yielded", `Int stats.cpus_yielded);
      ("domains_started", `Int stats.domains_started);
      ("domains_ended", `Int stats.domains_ended);
      ("waits", `Int stats.waits);
      ("waited_seconds", `Float stats.waited_seconds);
      ("minor_collections", `Int stats.minor_collections);
      ("minor_gc_seconds", `Float stats.minor_gc_seconds);
      ("decisions", `List (List.map decision stats.decisions));
    ]

let pool (facts : Facts.t) =
  let words = List.map (fun words -> `Int words) facts.pool.minor_heaps in
  `Assoc
    [
      ("workers", `Int facts.pool.workers);
      ("minor_heap_words", `List words);
      ("plan", `String (Advice.plan facts.cpu));
      ("beside_others", `String (Advice.beside_others facts));
      ("heap", `String (Advice.heap facts));
      ("idle", `String Advice.idle);
      ("trial", trial facts.pool.trial);
    ]

(* JSON is UTF-8, which paths and variables of the environment need not be. *)
let rec in_utf_8 : Yojson.Basic.t -> Yojson.Basic.t = function
  | `String text when not (String.is_valid_utf_8 text) -> `String (String.escaped text)
  | `List items -> `List (List.map in_utf_8 items)
  | `Assoc fields -> `Assoc (List.map (fun (name, value) -> (name, in_utf_8 value)) fields)
  | other -> other

let of_facts (facts : Facts.t) : Yojson.Basic.t =
  in_utf_8
  @@ `Assoc
       [
         ("muster", `String facts.muster);
         ("ocaml", ocaml facts.ocaml);
         ("cpus", cpus facts.cpu);
         ("minor_heap", minor_heap facts);
         ("sight", sight facts.sight);
         ("pool", pool facts);
         ("warnings", strings (Advice.warnings facts));
       ]
