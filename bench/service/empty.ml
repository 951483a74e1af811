(* Empty jobs: what the way to a worker and back costs. *)

module Workers = Muster.Workers

type contender = { name : string; serve : int -> (Rival.submit -> unit) -> unit }

let muster =
  let serve workers f =
    let t = Workers.create ~workers ~queue:max_int ignore in
    Fun.protect ~finally:(fun () -> Workers.drain t) (fun () -> f (Workers.submit t))
  in
  { name = "Muster"; serve }

let executor_pool (eio : Rival.t) = { name = "Executor_pool"; serve = eio.executor_pool }

(* Time from submit to result, the median. *)
let latency ~jobs submit =
  let one _ =
    let since = Clock.now () in
    submit ignore;
    Clock.now () -. since
  in
  Measure.(median (of_runs (List.init jobs one)))

(* Time of a job, where so many fibers submit at once. *)
let per_job ~fibers ~jobs (eio : Rival.t) submit =
  let each = jobs / fibers in
  let fiber () =
    for _ = 1 to each do
      submit ignore
    done
  in
  Clock.time (fun () -> eio.fibers (List.init fibers (fun _ -> fiber))) /. float (fibers * each)

let run measure ~jobs ~workers ~round:_ contender =
  let result = ref nan in
  contender.serve workers (fun submit ->
      ignore (measure ~jobs:(jobs / 10) submit);
      result := measure ~jobs submit);
  !result

(* {2 Tables} *)

let row ~repeat ~jobs ~workers name measure contenders =
  match Measure.in_turn ~repeat (run measure ~jobs ~workers) contenders with
  | [ (_, ours) ] -> [ name; Clock.show (Measure.median ours); ""; "" ]
  | [ (_, ours); (_, theirs) ] ->
    let ratio = Measure.median_ratio theirs ours in
    let show it = Clock.show (Measure.median it) in
    [ name; show ours; show theirs; Printf.sprintf "%.2f" ratio ]
  | _ -> assert false

let header = [ "empty jobs, time of each"; muster.name; "Executor_pool"; "times faster" ]

let outside ~repeat ~jobs =
  row ~repeat ~jobs ~workers:1 "1 worker, a domain that submits one by one" latency [ muster ]

let in_fibers ~repeat ~jobs eio =
  let contenders = [ muster; executor_pool eio ] in
  let row = row ~repeat in
  let many workers =
    let name = Printf.sprintf "%d workers, 100 fibers of Eio" workers in
    row ~jobs:(10 * jobs) ~workers name (per_job ~fibers:100 eio) contenders
  in
  row ~jobs ~workers:1 "1 worker, a fiber of Eio one by one" latency contenders
  :: List.map many [ 1; 2; 4; 8 ]

let table ~repeat ~quick =
  let jobs = if quick then 100 else 20_000 in
  let rows = ref [ outside ~repeat ~jobs ] in
  let add_fibers within = within (fun eio -> rows := !rows @ in_fibers ~repeat ~jobs eio) in
  Option.iter add_fibers Rival.within;
  Table.{ title = "What does a job cost?"; header; rows = !rows }
