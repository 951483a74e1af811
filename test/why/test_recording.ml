(* A recording goes out as JSON and comes back as it was; an event goes through the runtime's ring. *)

open Muster_cli
module Trace = Muster_trace.Trace

let events : Trace.event list =
  [
    Fork { task = 1 lsl 40; parent = 0; site = 3 };
    Begin { task = 7 };
    End { task = 7; back = 2 };
    Steal { victim = 0 };
    Busy { pool = 1; worker = 0; thread = 4711 };
    Idle;
    Park;
    Leave;
    Wait { task = 0; reason = 1; name = 2 };
    Resume { task = 0; reason = 1; ns = 5_000_000_000 };
    Region { workers = 2 };
    Region_end;
    Job { task = 1; queued = 12 };
    Counts { tasks = 1; forks = 0; steals = 2 };
    Sampling { every = 64 };
    Budget { size = 2; lent = 1 };
    Spin { ns = 7 };
    Alone { ns = 7_000_000; site = 3 };
  ]

let recording : Recording.t =
  let gc = Recording.[ Gc Minor; Gc Stop; Gc_end Stop; Gc_end Minor; Lost 3 ] in
  let all = List.map (fun it -> Recording.Muster it) events @ gc in
  let thread : Recording.thread = { thread = 4711; cpu = 5; queue = 6 } in
  {
    program = [ "./prog"; "a \"b\"" ];
    outcome = Signalled 9;
    ocaml_rings = true;
    duration = 1_000_000;
    cpus = 1.5;
    names = [ (1, "Mutex.lock"); (2, "at a.ml:1") ];
    timelines =
      [ { ring = 0; events = Array.of_list (List.mapi (fun i it -> (i, it)) all) };
        { ring = 3; events = [||] } ];
    samples =
      [ { at = 1; threads = [ thread ]; throttled = None };
        { at = 2; threads = []; throttled = Some 9 } ];
    lost = 3;
    left_out = 0;
    causes = [ ("a lock", 0.5); ("imbalance", 0.25) ];
    measures = [ ("wall", 0.1) ];
    verdict = [ "a"; "b" ];
  }
[@@ocamlformat "disable"]

let comes_back () =
  let file = Filename.temp_file "muster" ".json" in
  let check it =
    Out_channel.with_open_bin file (fun oc -> Recording.to_channel oc it);
    let back = In_channel.with_open_bin file Recording.of_channel in
    Alcotest.(check bool) "the same" true (back = it)
  in
  Fun.protect
    ~finally:(fun () -> Sys.remove file)
    (fun () ->
      check recording;
      check { recording with outcome = Still_running; timelines = []; samples = [] };
      check { recording with outcome = Exited 1 })

let through_a_ring () =
  let folder = Filename.temp_dir "muster" "" in
  let sent = events @ [ Trace.Name { id = 5; text = "a place" } ] in
  let before = Sys.getcwd () in
  Sys.chdir folder;
  Trace.set true;
  let cursor = Runtime_events.create_cursor None in
  let got = ref [] in
  let note _ _ event = got := event :: !got in
  let callbacks = Trace.add_callback note (Runtime_events.Callbacks.create ()) in
  let poll () = ignore (Runtime_events.read_poll cursor callbacks None) in
  poll ();
  got := [];
  List.iter Trace.emit sent;
  poll ();
  Trace.set false;
  Array.iter (fun it -> Sys.remove it) (Sys.readdir ".");
  Sys.chdir before;
  Sys.rmdir folder;
  Alcotest.(check bool) "all came" true (List.rev !got = sent)

let case name run = Alcotest.test_case name `Quick run

let () =
  Alcotest.run "recording"
    [ ("recording", [ case "comes back" comes_back; case "through a ring" through_a_ring ]) ]
