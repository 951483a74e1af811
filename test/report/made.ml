open Muster_cli
module Trace = Muster_trace.Trace

let of_events ?(names = []) ?(samples = []) ~duration timelines : Recording.t =
  {
    program = [ "./prog"; "<\"size\">"; "&3" ];
    outcome = Exited 0;
    ocaml_rings = true;
    duration;
    cpus = 2.;
    names;
    timelines = List.mapi (fun ring l -> { Recording.ring; events = Array.of_list l }) timelines;
    samples;
    lost = 0;
    left_out = 0;
    causes = [];
    measures = [ ("wall", float_of_int duration) ];
    verdict = [ "1.2 of 2 CPUs used. Main cause: made up."; "Try: <nothing> & go on." ];
  }

(* {2 A simulation}

   A worker takes the newest of its own tasks that is there at its time, or the oldest of another, else it
   looks for work, or sleeps, until one is. *)

type worker = {
  ring : int;
  random : Random.State.t;
  mutable now : int;
  mutable own : (int * int) list;  (** when forked, and the number *)
  mutable log : (int * Recording.event) list;  (** backwards *)
}

let put w event = w.log <- (w.now, event) :: w.log
let tell w (event : Trace.event) = put w (Muster event)
let pass w ns = w.now <- w.now + 1 + Random.State.int w.random ns
let one_of w n = Random.State.int w.random n = 0
let sites = 14

let collect w =
  let during phase f =
    put w (Gc phase);
    pass w 4_000;
    f ();
    put w (Gc_end phase)
  in
  during Minor (fun () -> if one_of w 2 then during Stop ignore);
  if one_of w 3 then during Major ignore

let run w ~fresh ~stolen (_, task) =
  Option.iter (fun victim -> tell w (Steal { victim })) stolen;
  tell w (Begin { task });
  pass w 3_000;
  for _ = 1 to Random.State.int w.random 4 do
    match fresh () with
    | None -> ()
    | Some child ->
      let site = 1 + ((task + Random.State.int w.random 3) mod sites) in
      tell w (Fork { task = child; parent = task; site });
      w.own <- (w.now, child) :: w.own;
      pass w 2_000
  done;
  if one_of w 30 then collect w;
  if one_of w 60 then begin
    tell w (Region { workers = 2 });
    pass w 9_000;
    tell w Region_end
  end;
  if one_of w 40 then begin
    tell w (Wait { task; reason = 100; name = 0 });
    let before = w.now in
    pass w 20_000;
    tell w (Resume { task; reason = 100; ns = w.now - before });
    pass w 1_000
  end;
  tell w (End { task; back = 0 })

let rest w =
  tell w Idle;
  pass w 3_000;
  if one_of w 2 then begin
    tell w Park;
    pass w 30_000
  end;
  tell w (Busy { pool = 1; worker = w.ring; thread = 100 + w.ring })

let take workers w =
  let there = List.filter (fun (at, _) -> at <= w.now) in
  match w.own with
  | task :: rest ->
    w.own <- rest;
    Some (None, task)
  | [] -> (
    let others = Array.to_list workers |> List.filter (fun it -> there it.own <> []) in
    match others with
    | [] -> None
    | victim :: _ ->
      let task = List.nth (there victim.own) (List.length (there victim.own) - 1) in
      victim.own <- List.filter (( <> ) task) victim.own;
      Some (Some victim.ring, task))

let sample workers at : Recording.sample =
  let thread w : Recording.thread = { thread = 100 + w.ring; cpu = at * 6 / 10; queue = at / 10 } in
  { at; threads = List.map thread (Array.to_list workers); throttled = None }

let recording ?(workers = 3) ?(lost = false) ~tasks ~seed () =
  let worker ring =
    { ring; random = Random.State.make [| seed; ring |]; now = 0; own = []; log = [] }
  in
  let workers = Array.init workers worker in
  let last = ref 1 in
  let fresh () =
    if !last >= tasks then None
    else (
      incr last;
      Some !last)
  in
  Array.iter (fun w -> tell w (Busy { pool = 1; worker = w.ring; thread = 100 + w.ring })) workers;
  workers.(0).own <- [ (0, 1) ];
  tell workers.(0) (Fork { task = 1; parent = 0; site = 1 });
  let earliest () =
    Array.fold_left (fun best w -> if w.now < best.now then w else best) workers.(0) workers
  in
  let rec go () =
    if Array.exists (fun w -> w.own <> []) workers || !last < tasks then begin
      let w = earliest () in
      (match take workers w with
      | Some (stolen, task) -> run w ~fresh ~stolen task
      | None when Array.for_all (fun w -> w.own = []) workers ->
        Option.iter (fun task -> w.own <- [ (w.now, task) ]) (fresh ())
      | None -> rest w);
      if lost && one_of w 500 then put w (Lost 12);
      go ()
    end
  in
  go ();
  let duration = 1 + Array.fold_left (fun most w -> Int.max most w.now) 0 workers in
  Array.iter (fun w -> tell w Leave) workers;
  let samples = List.init 101 (fun i -> sample workers (i * duration / 100)) in
  let names =
    (100, "Mutex.lock")
    :: List.init sites (fun i -> (i + 1, Printf.sprintf "src/step_%d.ml:%d" i (10 * i)))
  in
  of_events ~names ~samples ~duration (Array.to_list (Array.map (fun w -> List.rev w.log) workers))
