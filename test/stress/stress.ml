(* Random task graphs from several callers at once on one pool, each checked against its
   sequential worth, until the time is up. [--soak] adds busy processes beside it, signals, and a check
   that memory stays flat. *)

module Pool = Muster.Pool
module Oracle = Worth.Value (Worth.Sequential)

type run = { watch : Watch.t; failure : string option Atomic.t }

let has_to_stop r = Option.is_some (Atomic.get r.failure) || Watch.is_over r.watch
let show = function Ok n -> string_of_int n | Error e -> Printexc.to_string e

let fail r ~caller ~round graph ~ours ~theirs =
  let message =
    Printf.sprintf "seed %d, caller %d, graph %d: %s, should be %s\n%s" r.watch.seed caller round
      (show ours) (show theirs) (Graph.to_string graph)
  in
  ignore (Atomic.compare_and_set r.failure None (Some message))

let check r value ~caller ~round =
  let seed = r.watch.seed and now = r.watch.callers.(caller) in
  let graph =
    Graph.random (Random.State.make [| seed; caller; round |]) (Graph.rules_of_seed seed)
  in
  Atomic.set now.in_hand (Some graph);
  let theirs = Harness.outcome (fun () -> Oracle.value graph) in
  let ours = Harness.outcome (fun () -> value graph) in
  if ours <> theirs then fail r ~caller ~round graph ~ours ~theirs;
  Atomic.incr now.ended

let call r value caller =
  let rec loop round =
    if not (has_to_stop r) then begin
      check r value ~caller ~round;
      loop (round + 1)
    end
  in
  loop 0;
  Atomic.set r.watch.callers.(caller).in_hand None

let callers = 4

(* The main domain and a second one run graphs within the pool, a systhread of each runs them
   on whatever pool is current there. *)
let call_from_everywhere r ~pool value =
  let within caller = Pool.run pool (fun () -> call r value caller) in
  let domain caller =
    Domain.spawn (fun () ->
        let thread = Thread.create (call r value) (caller + 1) in
        within caller;
        Thread.join thread)
  in
  let second = domain 2 in
  let thread = Thread.create (call r value) 1 in
  within 0;
  Thread.join thread;
  Domain.join second

let stress r domains =
  Harness.with_domains domains @@ fun pool ->
  Harness.with_domains 2 @@ fun other ->
  let ported = Domainslib.Task.setup_pool ~num_domains:1 () in
  let module Runner = Runner.Parallel (struct
    let pool = pool
    let other = other
    let ported = ported
  end) in
  let module Ours = Worth.Value (Runner) in
  call_from_everywhere r ~pool Ours.value;
  Domainslib.Task.teardown_pool ported;
  let of_pool (p : Muster_core.Place.pool) = Atomic.get p.residents + Atomic.get p.history.ended in
  List.fold_left (fun sum p -> sum + of_pool p) 0 (Atomic.get Muster_core.Place.open_pools)

(* {2 Summary} *)

let operations () =
  let counts = List.map (fun (name, n) -> (Atomic.get n, name)) (Atomic.get Runner.counts) in
  let tell (n, name) = Printf.sprintf "%s %d" name n in
  String.concat ", " (List.map tell (List.sort (fun a b -> compare b a) counts))

let tell_memory (w : Watch.t) =
  let show name part =
    let first, last = Watch.thirds w (Watch.peak part)
    and early, late = Watch.thirds w (Watch.median part) in
    Printf.printf
      "%s: peak %.1f MB, in the first third %.1f (median %.1f), in the last %.1f (median %.1f)\n"
      name
      (Watch.megabytes (Watch.peak part w.samples))
      (Watch.megabytes first) (Watch.megabytes early) (Watch.megabytes last) (Watch.megabytes late)
  in
  show "resident" Watch.resident;
  show "heap" Watch.heap;
  show "live" Watch.live

(* What the program holds when all is over and all that is free has gone back to the system: by then
   no C code is left that the runtime's compaction would run beside. *)
type rest = { live_words : int; resident_kb : int }

let at_rest () =
  Gc.compact ();
  let live_words = (Gc.stat ()).live_words in
  Harness.trim ();
  { live_words; resident_kb = Harness.process_status "VmRSS" }

(* The C library keeps up to eight arenas for each CPU: 120 and 146 MB on 16 of them, 50 on 2. *)
let most_at_rest_kb = (96 + (16 * Muster.Cpu.available ())) * 1024

(* It starts with some 50,000 words, and the watch keeps 24 a second. *)
let keeps_little (w : Watch.t) rest =
  float rest.live_words < 150_000. +. (50. *. Watch.elapsed w) && rest.resident_kb < most_at_rest_kb

let summarise r ~domains_started =
  let w = r.watch in
  let rest = at_rest () in
  Printf.printf "\nseed %d: %d graphs in %.0f s%s, %d wrong answers\n" w.seed (Watch.graphs w)
    (Watch.elapsed w)
    (if Atomic.get w.interrupted then ", interrupted" else "")
    (if Atomic.get r.failure = None then 0 else 1);
  Printf.printf "operations: %s\n" (operations ());
  tell_memory w;
  Printf.printf "in the end: %d words live, %.1f MB resident\n" rest.live_words
    (Watch.megabytes rest.resident_kb);
  Printf.printf "at most %d threads; domains of the pools started %d times, %d busy neighbours\n%!"
    w.threads domains_started
    (Option.fold w.neighbours ~none:0 ~some:(fun (n : Neighbours.t) -> n.started));
  Option.iter prerr_endline (Atomic.get r.failure);
  let flat = Watch.memory_is_flat w && keeps_little w rest in
  if not flat then prerr_endline "memory grows";
  if flat && Atomic.get r.failure = None then 0 else 1

(* The first Ctrl-C ends the run after the graphs in hand, a second one at once. *)
let heed_signals (w : Watch.t) =
  let interrupt _ = if Atomic.exchange w.interrupted true then Unix._exit 130 in
  Sys.set_signal Sys.sigint (Signal_handle interrupt);
  let ask _ = ignore (Muster.both (fun () -> 1) (fun () -> 2)) in
  Sys.set_signal Sys.sigusr1 (Signal_handle ask)

let run seconds seed domains soak =
  Muster.Task.set_uncaught_handler Trouble.handle;
  Trouble.limit_stacks ();
  let r = { watch = Watch.create ~seed ~seconds ~soak ~callers; failure = Atomic.make None } in
  heed_signals r.watch;
  Printf.printf "seed %d, %d domains, %g s\n%!" seed domains seconds;
  let domains_started = Watch.during r.watch (fun () -> stress r domains) in
  exit (summarise r ~domains_started)

let main seconds seed domains soak = function
  | Some seconds -> Neighbours.be_one seconds
  | None -> run seconds seed domains soak

let command =
  let open Cmdliner in
  let seconds = Arg.(value & opt float 10. & info [ "seconds" ] ~doc:"Running time.") in
  let any_seed = int_of_float (Unix.gettimeofday () *. 1e3) mod 1_000_000 in
  let seed = Arg.(value & opt int any_seed & info [ "seed" ] ~doc:"The graphs' seed.") in
  let domains = Arg.(value & opt int 3 & info [ "domains" ] ~doc:"The pool's size.") in
  let soak = Arg.(value & flag & info [ "soak" ] ~doc:"With neighbours, signals, flat memory.") in
  let neighbour =
    Arg.(value & opt (some float) None & info [ "neighbour" ] ~doc:"Only computes, so long.")
  in
  let doc = "random task graphs against their sequential answers" in
  Cmd.v (Cmd.info "stress" ~doc) Term.(const main $ seconds $ seed $ domains $ soak $ neighbour)

let () = exit (Cmdliner.Cmd.eval command)
