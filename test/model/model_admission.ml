(* Jobs and runners: no job is lost, and none is run or answered twice, though some are withdrawn,
   while the end comes. One job at a time has a slot. The runners that a party sends are run by it,
   or by others that have nothing else to do. *)

type job = { mutable runs : int; mutable answers : int; mutable refused : bool }

type shared = {
  t : unit Admission.t;
  sent : (unit -> unit) list Atomic.t;
  busy : int Atomic.t;
  mutable crowded : bool;
  mutable late : bool;  (** something ran when the drain was over *)
  mutable over : bool;
}

let rec send s run =
  let seen = Atomic.get s.sent in
  if not (Atomic.compare_and_set s.sent seen (run :: seen)) then send s run

let rec run_sent s =
  match Atomic.get s.sent with
  | [] -> ()
  | run :: rest as seen ->
    if Atomic.compare_and_set s.sent seen rest then run ();
    run_sent s

let rec start s hand =
  let idle _ = () and struck exn = raise exn in
  let run () = Admission.run s.t hand { start = start s; between = ignore; idle; struck } in
  fun () -> send s run

let task = Promise.(any (started nowhere))

let make s =
  let job = { runs = 0; answers = 0; refused = false } in
  let work _ =
    if Atomic.fetch_and_add s.busy 1 >= 1 then s.crowded <- true;
    job.runs <- job.runs + 1;
    if s.over then s.late <- true;
    Atomic.decr s.busy
  and answer () = job.answers <- job.answers + 1 in
  (job, Admission.new_job s.t ~priority:0 task ~work ~answer)

(* {2 Parties} *)

let posts ?(nested = false) s (job, it) () =
  (match Admission.admit s.t it ~nested ~start:(start s) with
  | Ok () -> ()
  | Error _ -> job.refused <- true);
  run_sent s

let withdraws s (job, it) () =
  Admission.withdraw s.t it (fun () -> job.answers <- job.answers + 1);
  run_sent s

(* The jobs of the queue are stopped, which withdraws them. *)
let drains ?(cuts = false) s jobs () =
  Admission.close s.t ~start:(start s);
  if cuts then begin
    ignore (Admission.cut s.t ~start:(start s));
    List.iter (fun job -> withdraws s job ()) jobs
  end;
  run_sent s;
  Admission.join s.t;
  s.over <- true

let is_wrong (job, _) =
  if job.refused then job.runs + job.answers > 0 else job.runs > 1 || job.answers <> 1

let model ?cancelled name ~jobs bodies =
  Parties.model ("admission: " ^ name) ?cancelled (fun () ->
      let t = Admission.create ~workers:1 ~bound:1 in
      let sent = Atomic.make [] and busy = Atomic.make 0 in
      let s = { t; sent; busy; crowded = false; late = false; over = false } in
      let jobs = List.init jobs (fun _ -> make s) in
      ( bodies s jobs,
        fun () ->
          [
            ("a job is lost, or answered twice", List.exists is_wrong jobs);
            ("two have a slot", s.crowded);
            ("one runs after the end", s.late);
            ("something is left", Admission.busy_and_queued t <> (0, 0));
          ] ))

(* When no job is left. Drains take turns (Workers), but for a handler's on top of another. *)
let closes =
  Parties.model "admission: two close the slots" (fun () ->
      let t = Admission.create ~workers:2 ~bound:1 and closed = ref [] in
      let rec closes () =
        let close { Admission.index; _ } =
          closed := index :: !closed;
          closes ()
        in
        Option.iter close (Admission.take_free t)
      in
      let is_wrong () = List.sort Int.compare !closed <> [ 0; 1 ] in
      ([ closes; closes ], fun () -> [ ("a slot is closed twice, or not at all", is_wrong ()) ]))

let each s jobs = List.map (posts s) jobs
let first = List.hd

let many = Model.bounded 500_000
let one ?cancelled name bodies = model ?cancelled ~jobs:1 ("one job, " ^ name) bodies
let two name bodies = model ~jobs:2 ("two jobs" ^ name) bodies
let withdraws_first s jobs = withdraws s (first jobs)

let quick =
  [
    two "" each;
    one "withdrawn" (fun s jobs -> withdraws_first s jobs :: each s jobs);
    closes;
  ]

let slow =
  List.map many
    [
      one "a drain" (fun s jobs -> drains s jobs :: each s jobs);
      one "cut" (fun s jobs -> drains ~cuts:true s jobs :: each s jobs);
      one "two drains" (fun s jobs -> drains s jobs :: drains s jobs :: each s jobs);
      one "withdrawn, a drain" (fun s jobs ->
          drains s jobs :: withdraws_first s jobs :: each s jobs);
      one ~cancelled:[ 0 ] "a drain that is cancelled" (fun s jobs ->
          drains s jobs :: each s jobs);
      one "nested, a drain" (fun s jobs -> [ drains s jobs; posts ~nested:true s (first jobs) ]);
      two ", one withdrawn" (fun s jobs -> withdraws_first s jobs :: each s jobs);
      two ", a drain" (fun s jobs -> drains s jobs :: each s jobs);
      two ", cut" (fun s jobs -> drains ~cuts:true s jobs :: each s jobs);
    ]
