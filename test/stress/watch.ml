(* One systhread that looks after a run twice a second: does every caller get on, is memory flat, do
   signals come. It counts time in which it runs itself, so a program that was stopped has not hung. *)

type caller = {
  ended : int Atomic.t;  (** graphs; written by the caller alone *)
  in_hand : Graph.t option Atomic.t;  (** [None] before its first and after its last *)
  mutable seen : int;  (** [ended], when the watch last looked *)
  mutable idle : float;  (** seconds since it saw one more; of the watch alone *)
}

type t = {
  seed : int;
  seconds : float;
  started : float;
  callers : caller array;
  interrupted : bool Atomic.t;
  neighbours : Neighbours.t option;
  signals : bool;  (** whether it sends some *)
  mutable samples : sample list;  (** the latest first *)
  mutable threads : int;  (** the most *)
}

and sample = { at : float; resident_kb : int; heap_kb : int; live_kb : int }

let caller _ = { ended = Atomic.make 0; in_hand = Atomic.make None; seen = 0; idle = 0. }

let create ~seed ~seconds ~soak ~callers =
  {
    seed;
    seconds;
    started = Unix.gettimeofday ();
    callers = Array.init callers caller;
    interrupted = Atomic.make false;
    samples = [];
    threads = 0;
    signals = soak && not (Graph.rules_of_seed seed).compacts;
    neighbours = (if soak then Some (Neighbours.create seed) else None);
  }

let elapsed t = Unix.gettimeofday () -. t.started
let is_over t = Atomic.get t.interrupted || elapsed t > t.seconds
let megabytes kb = float kb /. 1024.
let graphs t = Array.fold_left (fun sum c -> sum + Atomic.get c.ended) 0 t.callers

(* {2 Memory} *)

let kb words = words * (Sys.word_size / 8) / 1024

(* What the program reaches takes a whole collection to find, so it is looked for now and then. *)
let live_kb t =
  match t.samples with
  | latest :: _ when List.length t.samples mod 20 > 0 -> latest.live_kb
  | _ -> kb (Gc.stat ()).live_words

let sample t =
  let heap_kb = kb (Gc.quick_stat ()).heap_words and live_kb = live_kb t in
  let now = { at = elapsed t; resident_kb = Harness.process_status "VmRSS"; heap_kb; live_kb } in
  t.samples <- now :: t.samples;
  t.threads <- max t.threads (Harness.process_status "Threads")

let peak part samples = List.fold_left (fun most s -> max most (part s)) 0 samples

let median part samples =
  match List.sort compare (List.map part samples) with
  | [] -> 0
  | sorted -> List.nth sorted (List.length sorted / 2)

(* [of_samples] of the first third, and of the last. *)
let thirds t of_samples =
  let all = elapsed t in
  let within holds = of_samples (List.filter holds t.samples) in
  (within (fun s -> s.at < all /. 3.), within (fun s -> s.at > all *. 2. /. 3.))

let resident s = s.resident_kb
let heap s = s.heap_kb
let live s = s.live_kb

(* A peak is chance, of what graphs met at a look: with the same code those of what is live were 10.5 MB in the first
   third and 2.2 in the last of one run, 3.6 and 13.0 of another. What is never let go raises all looks, so the
   middle one tells. The heap around it is whatever the runtime has not given back. A run that was short, or had little
   of the CPUs, has not yet come to what it needs. *)
let memory_is_flat t =
  let first, last = thirds t (median live) in
  Sys.time () < 60. || last <= (first * 5 / 4) + 1024

(* {2 Hangs} *)

let patience = 120.

(* For a runtime that hangs itself, in which nothing here runs: Harness's guard, in C. *)
let keep_guard t = Harness.set_guard 400 (Printf.sprintf "\nthe runtime hangs, seed %d\n" t.seed)

let show_place (w : Muster_core.Place.t) =
  let has_tasks = not (Muster_core.Deque.is_empty w.deque) in
  if Atomic.get w.owner <> 0 || has_tasks then
    Printf.eprintf "  place %d: %s%s%s%s\n" w.index
      (if w.resident then "resident" else if Atomic.get w.owner = 0 then "left" else "caller")
      (if Muster_core.Mailbox.is_idle w.mailbox then ""
       else if Muster_core.Mailbox.is_gone w.mailbox then ", gone"
       else if Muster_core.Mailbox.is_posted w.mailbox then ", a job waits"
       else ", busy")
      (if has_tasks then ", tasks in its deque" else "")
      (if Atomic.get w.away then ", away" else "")

let show_pool (pool : Muster_core.Place.pool) =
  let s = Muster_core.Pool.stats pool in
  Printf.eprintf
    "pool %s: size %d, workers %d, allowed %d, yielded %d, tasks %d, forks %d, steals %d, \
     parks %d, regions %d\n"
    pool.name s.size s.workers s.allowed s.cpus_yielded s.tasks s.forks s.steals
    s.parks s.regions;
  Printf.eprintf "  %d suspended, inbox %s, %d searching, %d posting%s\n"
    (Atomic.get pool.suspended)
    (if Muster_core.Inbox.is_empty pool.inbox then "empty" else "not empty")
    (Atomic.get pool.searching) (Atomic.get pool.posting)
    (if Atomic.get pool.closing then ", closing" else "");
  Array.iter show_place (Atomic.get pool.workers);
  List.iter
    (fun (d : Muster_core.Pool.decision) ->
      Printf.eprintf "  %.3f s ago: %s: %s\n" d.seconds_ago d.what d.why)
    s.decisions

let show_caller i c =
  Printf.eprintf "caller %d: graph %d, for %.0f s%s\n" i (Atomic.get c.ended) c.idle
    (match Atomic.get c.in_hand with
    | None -> ": none in hand"
    | Some graph -> "\n  " ^ Graph.to_string graph)

let give_up t =
  Printf.eprintf "\nno graph of a caller has ended for %.0f s, seed %d, after %d graphs in %.0f s\n"
    patience t.seed (graphs t) (elapsed t);
  Array.iteri show_caller t.callers;
  List.iter show_pool (Atomic.get Muster_core.Place.open_pools);
  Option.iter Neighbours.end_all t.neighbours;
  flush stderr;
  Unix._exit 124

let look_at passed c =
  let ended = Atomic.get c.ended in
  c.idle <- (if ended > c.seen then 0. else c.idle +. passed);
  c.seen <- ended

(* A caller that has none in hand has yet to come to its first graph, or waits for the others and for the end
   of pools and threads: it has hung only if all others, too, have come to nothing. *)
let has_hung t =
  let is_late c = c.idle > patience in
  Array.exists (fun c -> is_late c && Atomic.get c.in_hand <> None) t.callers
  || Array.for_all is_late t.callers

(* {2 The thread} *)

let pause = 0.5

let tell t =
  Printf.sprintf "%.0f of %.0f s, %.0f of CPU: %d graphs, %.0f MB, %d threads" (elapsed t) t.seconds
    (Sys.time ()) (graphs t)
    (match t.samples with s :: _ -> megabytes s.resident_kb | [] -> 0.)
    t.threads

let report t ~told =
  if Unix.isatty Unix.stdout then Printf.printf "\r%s\027[K%!" (tell t)
  else if elapsed t -. told >= 60. then Printf.printf "%s\n%!" (tell t)

let rec watch t ~is_done ~told =
  if not (is_done ()) then begin
    let before = Unix.gettimeofday () in
    Thread.delay pause;
    let passed = Float.min (Unix.gettimeofday () -. before) (2. *. pause) in
    Array.iter (look_at passed) t.callers;
    if has_hung t then give_up t;
    keep_guard t;
    sample t;
    Option.iter Neighbours.come_and_go t.neighbours;
    if t.signals then Unix.kill (Unix.getpid ()) Sys.sigusr1;
    report t ~told;
    watch t ~is_done ~told:(if elapsed t -. told >= 60. then elapsed t else told)
  end

(* [f ()], watched. *)
let during t f =
  let is_done = Atomic.make false in
  keep_guard t;
  sample t;
  let look () = watch t ~is_done:(fun () -> Atomic.get is_done) ~told:0. in
  let thread = Thread.create look () in
  Fun.protect f ~finally:(fun () ->
      Atomic.set is_done true;
      Thread.join thread;
      Harness.set_guard 0 "";
      Option.iter Neighbours.end_all t.neighbours)
