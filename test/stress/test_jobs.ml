(* A soak of Muster.Workers: clients submit and post to workers that others drain, one generation of
   them after the other, beside busy processes. Deadlines pass at random, jobs raise and are
   cancelled, and making, renewing and closing values raises. Each job has to be answered once, a
   value is one job's at a time and is closed once, and memory stays flat. *)

module Task = Muster.Task
module Workers = Muster.Workers

exception Boom

type value = { taken : bool Atomic.t; closed : bool Atomic.t }

let failure = Atomic.make None
let fail text = ignore (Atomic.compare_and_set failure None (Some text))
let answers = Atomic.make 0
let chance n = Random.int n = 0

(* {2 Workers} *)

let alive = Atomic.make 0

let make _ =
  if chance 50 then raise Boom;
  Atomic.incr alive;
  { taken = Atomic.make false; closed = Atomic.make false }

let close w =
  if Atomic.exchange w.closed true then fail "a value is closed twice";
  Atomic.decr alive;
  if chance 50 then raise Boom

let reset w =
  if chance 3 then begin
    Atomic.set w.closed true;
    Atomic.decr alive;
    raise Exit
  end;
  w

let generation () =
  let workers = 1 + Random.int 4 in
  Workers.create ~workers ~queue:(Random.int 32) ~reset ~close make

let current = Atomic.make (generation ())

(* {2 Jobs} *)

let act t () =
  match Random.int 8 with
  | 0 -> raise Boom
  | 1 -> Task.sleep (Random.float 0.002)
  | 2 -> ignore (Muster.both Fun.id Fun.id)
  | 3 -> Workers.submit t ignore
  | 4 when chance 500 -> Workers.drain ~grace:0.01 t
  | _ -> Task.yield ()

let job t runs w =
  if Atomic.fetch_and_add runs 1 > 0 then fail "a job ran twice";
  if Atomic.exchange w.taken true then fail "two jobs have one value";
  Fun.protect ~finally:(fun () -> Atomic.set w.taken false) (act t)

let posted t job =
  let task = Workers.post ~priority:(Random.int 3) t job in
  if chance 2 then Task.cancel task;
  Task.await task

let one () =
  let t = Atomic.get current and runs = Atomic.make 0 in
  let job = job t runs and soon () = Random.float 0.004 in
  let answer () =
    match Random.int 4 with
    | 0 -> Workers.submit ~deadline:(soon ()) ~priority:(Random.int 3) t job
    | 1 -> Task.with_deadline (soon ()) (fun () -> Workers.submit t job)
    | 2 -> posted t job
    | _ -> Workers.submit t job
  in
  (match answer () with
  | () -> if Atomic.get runs <> 1 then fail "an answer without a run"
  | exception (Boom | Exit | Task.Cancelled | Task.Deadline_exceeded | Workers.Rejected _) -> ()
  | exception exn -> fail (Printexc.to_string exn));
  Atomic.incr answers

(* {2 The run} *)

(* Of those that were drained nothing is left. *)
let next_generation () =
  let old = Atomic.exchange current (generation ()) in
  let rec drain () =
    try Workers.drain ~grace:(Random.float 0.02) old with Boom -> drain ()
  in
  drain ();
  let { Workers.busy; queued; _ } = Workers.stats old in
  if (busy, queued) <> (0, 0) then fail "something is left after a drain"

let live_words () =
  Gc.full_major ();
  (Gc.stat ()).live_words

let until stop f =
  while Unix.gettimeofday () < stop && Atomic.get failure = None do
    f ()
  done

let stage seconds =
  let stop = Unix.gettimeofday () +. seconds in
  let client () = until stop one in
  let drainer () =
    until stop (fun () ->
        Task.sleep (Random.float 0.1);
        next_generation ())
  in
  ignore (Task.all (drainer :: List.init 8 (fun _ -> client)));
  next_generation ();
  live_words ()

let run seconds =
  Task.set_uncaught_handler (fun _ _ -> ());
  let neighbours = Neighbours.create 1 and over = Atomic.make false in
  let rec look () =
    Thread.delay 0.5;
    Neighbours.come_and_go neighbours;
    if not (Atomic.get over) then look ()
  in
  let thread = Thread.create look () in
  let early = stage (seconds /. 4.) in
  let late = stage (3. *. seconds /. 4.) in
  Atomic.set over true;
  Thread.join thread;
  Neighbours.end_all neighbours;
  Workers.drain (Atomic.get current);
  if Atomic.get alive <> 0 then fail "a value was not closed";
  if late > (early * 5 / 4) + 20_000 then fail "memory grows";
  Printf.printf "%d jobs answered in %.0f s, %d words live at first, %d in the end\n"
    (Atomic.get answers) seconds early late;
  Option.iter print_endline (Atomic.get failure);
  let passed = Bool.to_int (Atomic.get failure = None) in
  Printf.printf "%d passed, %d failed\n" passed (1 - passed);
  exit (1 - passed)

let () =
  match Sys.argv with
  | [| _; "--neighbour"; seconds |] -> Neighbours.be_one (float_of_string seconds)
  | [| _; "--seconds"; seconds |] -> run (float_of_string seconds)
  | _ -> run 6.
