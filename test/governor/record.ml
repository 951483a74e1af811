(* record DIRECTORY: writes what 1 and 2 busy threads see of this machine in several situations,
   for test_governor to play. Run it on a quiet machine; it takes half a minute.

   A trace is a part for each thread, of lines of "n dt waited runnable": n samples, each dt after
   the one before, in which the thread had stood that long in the run queue and that many threads
   of the machine could run. Times in 0.1 ms. A line "thread" begins a part. The neighbours are this program again: "record spin SECONDS ON OFF", busy
   for ON ms and asleep for OFF ms in turn, in step with the clock. *)

module Machine = Muster_core.Machine

let seconds = 1.6
let sample_every = 2_000_000
let unit_ns = 100_000

(* Neighbours *)

let phase ~length = Float.rem (Unix.gettimeofday () *. 1e3) (float length)

let spin ~seconds ~on ~off =
  let stop = Unix.gettimeofday () +. seconds in
  while Unix.gettimeofday () < stop do
    let at = phase ~length:(on + off) in
    if at >= float on then Unix.sleepf ((float (on + off) -. at) /. 1e3)
  done

let start_neighbour (on, off) =
  let limit = string_of_float (seconds +. 2.) in
  let arguments = [| Sys.executable_name; "spin"; limit; string_of_int on; string_of_int off |] in
  Unix.create_process Sys.executable_name arguments Unix.stdin Unix.stdout Unix.stderr

let stop_neighbour pid =
  Unix.kill pid Sys.sigkill;
  ignore (Unix.waitpid [] pid)

(* Samples *)

type sample = { at : int; waited : int; runnable : int }

let runnable () =
  let text = In_channel.with_open_bin "/proc/loadavg" In_channel.input_all in
  Scanf.sscanf text "%_f %_f %_f %d" Fun.id

(* Busy without allocation: no collection makes one thread wait for another. *)
let watch ~stop =
  let rec busy until = if Machine.now () < until then busy until in
  let rec loop samples queued =
    busy (Machine.now () + sample_every);
    let now = Machine.now () and since = Machine.run_queue_wait () in
    let sample = { at = now; waited = since - queued; runnable = runnable () } in
    if now < stop then loop (sample :: samples) since else samples
  in
  loop [] (Machine.run_queue_wait ())

let in_step length = Unix.sleepf ((float length -. phase ~length) /. 1e3)

let record ~threads neighbours =
  let pids = List.map start_neighbour neighbours in
  Unix.sleepf 0.3;
  in_step 400;
  let start = Machine.now () in
  let stop = start + int_of_float (seconds *. 1e9) in
  let others = List.init (threads - 1) (fun _ -> Domain.spawn (fun () -> watch ~stop)) in
  let own = watch ~stop in
  let samples = own :: List.map Domain.join others in
  List.iter stop_neighbour pids;
  List.map (fun samples -> (start, List.rev samples)) samples

(* Text *)

let rounded ns = (ns + (unit_ns / 2)) / unit_ns

let lines (start, samples) =
  let add (before, lines) { at; waited; runnable } =
    let at = rounded (at - start) in
    let it = (at - before, rounded waited, runnable) in
    match lines with
    | (n, last) :: others when last = it -> (at, (n + 1, last) :: others)
    | _ -> (at, (1, it) :: lines)
  in
  List.rev (snd (List.fold_left add (0, []) samples))

let write path threads =
  Out_channel.with_open_text path @@ fun file ->
  let line (n, (dt, waited, runnable)) = Printf.fprintf file "%d %d %d %d\n" n dt waited runnable in
  let part samples =
    output_string file "thread\n";
    List.iter line (lines samples)
  in
  List.iter part threads

let steady n = List.init n (fun _ -> (400, 0))

let situations =
  [
    ("quiet", []);
    ("neighbours-1", steady 1);
    ("neighbours-2", steady 2);
    ("neighbours-4", steady 4);
    ("changing", [ (200, 200) ]);
    ("disturbed", [ (1, 39); (2, 98) ]);
  ]

let record_all directory =
  let one threads (name, neighbours) =
    let file = Printf.sprintf "%s.%d" name threads in
    write (Filename.concat directory file) (record ~threads neighbours)
  in
  List.iter (one 1) situations;
  List.iter (one 2) situations

let () =
  match Sys.argv with
  | [| _; "spin"; seconds; on; off |] ->
    spin ~seconds:(float_of_string seconds) ~on:(int_of_string on) ~off:(int_of_string off)
  | [| _; directory |] -> record_all directory
  | _ -> prerr_endline "usage: record DIRECTORY"
