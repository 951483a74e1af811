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
      List.iter (fun outcome -> check { recording with outcome }) [ Exited 1; Ended ];
      let odd = { recording with program = [ "\xff" ] } in
      Out_channel.with_open_bin file (fun oc -> Recording.to_channel oc odd);
      let text = In_channel.with_open_bin file In_channel.input_all in
      Alcotest.(check bool) "UTF-8, as all JSON" true (String.is_valid_utf_8 text))

(* In a folder of their own, where this process has its rings. *)
let in_rings checks () =
  let folder = Filename.temp_dir "muster" "" in
  let before = Sys.getcwd () in
  Sys.chdir folder;
  Trace.set true;
  List.iter (fun check -> check ()) checks;
  Trace.set false;
  Array.iter (fun it -> Sys.remove it) (Sys.readdir ".");
  Sys.chdir before;
  Sys.rmdir folder

let come_through () =
  let sent = events @ [ Trace.Name { id = 5; text = "a place" } ] in
  let cursor = Runtime_events.create_cursor None in
  let got = ref [] in
  let note _ _ event = got := event :: !got in
  let callbacks = Trace.add_callback note (Runtime_events.Callbacks.create ()) in
  let poll () = ignore (Runtime_events.read_poll cursor callbacks None) in
  poll ();
  got := [];
  List.iter Trace.emit sent;
  poll ();
  Alcotest.(check bool) "all came" true (List.rev !got = sent)

let fill n =
  for task = 1 to n do
    Trace.emit (Begin { task })
  done

(* Of a ring that was full before, no event of this recording is lost. *)
let lose_events () =
  fill 100_000;
  let since = Trace.now () and pid = Unix.getpid () in
  let account = Account.make ~cpus:2. ~main:pid ~attached:true ~since in
  let rings = Result.get_ok (Rings.open_ ~dir:"." ~pid ~since) in
  let lost_of n =
    fill n;
    Rings.poll rings account ~now:(Trace.now ());
    Rings.lost rings
  in
  let few = lost_of 10 in
  Alcotest.(check int) "before the recording" 0 few;
  Alcotest.(check bool) "in it" true (lost_of 100_000 > 0)

let case name run = Alcotest.test_case name `Quick run

let () =
  Alcotest.run "recording"
    [
      ( "recording",
        [ case "comes back" comes_back; case "rings" (in_rings [ come_through; lose_events ]) ] );
    ]
