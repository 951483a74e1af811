(* Muster.Workers: each job is answered once, with a value that nobody else has meanwhile. *)

open Harness
module Task = Muster.Task
module Workers = Muster.Workers

exception Boom

let rejected reason f =
  match f () with
  | _ -> failf "not rejected"
  | exception Workers.Rejected r -> check_equal "reason" true (r = reason)

let drained ?grace t f = Fun.protect ~finally:(fun () -> Workers.drain ?grace t) f

(* A job that holds a worker until told. *)
let hold t =
  let begun, begin_ = Muster.Promise.create () and free, release = Muster.Promise.create () in
  let task =
    Workers.post t (fun _ ->
        Muster.Promise.resolve begin_ ();
        Task.await free)
  in
  Task.await begun;
  (task, fun () -> Muster.Promise.resolve release ())

(* {2 Values} *)

let one_job_a_value () =
  let made = Atomic.make 0 and clashes = Atomic.make 0 in
  let make _ =
    Atomic.incr made;
    Atomic.make false
  in
  let t = Workers.create ~workers:3 ~queue:max_int make in
  let job _ =
    Workers.submit t (fun taken ->
        if Atomic.exchange taken true then Atomic.incr clashes;
        Task.yield ();
        Atomic.set taken false)
  in
  drained t (fun () -> ignore (Task.all (List.init 300 (fun i () -> job i))));
  check_equal "clashes" 0 (Atomic.get clashes);
  check_equal "values" true (Atomic.get made <= 3)

let after_an_exception () =
  let log = ref [] in
  let note what i = log := Printf.sprintf "%s %d" what i :: !log in
  let next = ref 0 in
  let make _ =
    incr next;
    note "make" !next;
    !next
  in
  let t = Workers.create ~workers:1 ~close:(note "close") make in
  check_raises "raises" Boom (fun () -> Workers.submit t (fun _ -> raise Boom));
  check_equal "value" 2 (Workers.submit t Fun.id);
  Workers.drain t;
  Workers.drain t;
  check_equal "log" [ "make 1"; "close 1"; "make 2"; "close 2" ] (List.rev !log);
  let t = Workers.create ~workers:1 ~reset:(fun i -> i + 10) (fun i -> i) in
  check_raises "raises" Boom (fun () -> Workers.submit t (fun _ -> raise Boom));
  check_equal "reset" 10 (Workers.submit t Fun.id);
  Workers.drain t

(* What [make], [reset] and [close] raise is the job's, and the worker stays. *)
let states_that_raise () =
  let fails = ref true in
  let make _ = if !fails then raise Boom in
  let t = Workers.create ~workers:1 make in
  check_raises "raises" Boom (fun () -> Workers.submit t Fun.id);
  fails := false;
  Workers.submit t Fun.id;
  Workers.drain t;
  let t = Workers.create ~workers:1 ~reset:(fun _ -> raise Exit) ignore in
  check_raises "raises" Exit (fun () -> Workers.submit t (fun () -> raise Boom));
  Workers.submit t Fun.id;
  Workers.drain t;
  let t = Workers.create ~workers:1 ~close:(fun () -> raise Exit) ignore in
  Workers.submit t Fun.id;
  check_raises "raises" Exit (fun () -> Workers.drain t);
  Workers.drain t

(* All are closed, though each of these raises. *)
let closings_that_raise () =
  let closed = Atomic.make 0 in
  let close () =
    Atomic.incr closed;
    raise Exit
  in
  let t = Workers.create ~workers:2 ~close ignore in
  let first, release = hold t in
  Workers.submit t ignore;
  release ();
  Task.await first;
  check_raises "raises" Exit (fun () -> Workers.drain t);
  check_equal "closed" 2 (Atomic.get closed)

(* A drain that comes while another one closes waits for it; one of the closing code's own does not. *)
let drain_beside_closing () =
  let closing = Muster.Latch.create 1 and go = Muster.Latch.create 1 and closed = Atomic.make false in
  let drain = ref ignore in
  let close () =
    Muster.Latch.count_down closing;
    !drain ();
    Muster.Latch.await go;
    Atomic.set closed true
  in
  let t = Workers.create ~workers:1 ~close ignore in
  (drain := fun () -> Workers.drain t);
  Workers.submit t ignore;
  let second () =
    Muster.Latch.await closing;
    let drainer = Task.async (fun () -> Workers.drain t; Atomic.get closed) in
    Task.sleep 0.01;
    Muster.Latch.count_down go;
    check_equal "closed" true (Task.await drainer)
  in
  ignore (Task.all [ !drain; second ])

(* {2 The queue} *)

let full () =
  let t = Workers.create ~workers:1 ~queue:1 ignore in
  let held, release = hold t in
  let waits = Workers.post t (fun () -> 1) in
  rejected Full (fun () -> Workers.submit t Fun.id);
  rejected Full (fun () -> Workers.post t Fun.id);
  Task.cancel waits;
  let waits = Workers.post t (fun () -> 2) in
  release ();
  Task.await held;
  check_equal "the next" 2 (Task.await waits);
  let { Workers.full; cancelled; returned; busy; queued; _ } = Workers.stats t in
  check_equal "counts" [ 2; 1; 2; 0; 0 ] [ full; cancelled; returned; busy; queued ];
  Workers.drain t

let no_queue () =
  let t = Workers.create ~workers:1 ~queue:0 ignore in
  for _ = 1 to 1_000 do
    Workers.submit t Fun.id
  done;
  let held, release = hold t in
  rejected Full (fun () -> Workers.submit t Fun.id);
  release ();
  Task.await held;
  Workers.submit t Fun.id;
  Workers.drain t

let begun_in order posts =
  let t = Workers.create ~workers:1 ~queue:max_int ignore in
  let held, release = hold t and log = ref [] in
  let post (name, priority) = Workers.post ~priority t (fun () -> log := name :: !log) in
  let tasks = List.map post posts in
  release ();
  Task.await held;
  List.iter Task.await tasks;
  Workers.drain t;
  check_equal "order" order (List.rev !log)

let priorities () =
  begun_in [ "a"; "b"; "c" ] [ ("a", 0); ("b", 0); ("c", 0) ];
  begun_in [ "urgent"; "a"; "b" ] [ ("a", 1); ("b", 1); ("urgent", 0) ]

(* A job of priority 1 is passed by those whose numbers are up to 63 higher, and no more. *)
let ageing () =
  let name i = string_of_int i in
  let later = List.init 100 (fun i -> (name i, 0)) in
  let before, after = List.partition (fun (i, _) -> int_of_string i < 63) later in
  let names = List.map fst in
  begun_in (names before @ ("old" :: names after)) (("old", 1) :: later)

(* {2 Deadlines and cancellation} *)

let deadlines () =
  let t = Workers.create ~workers:1 ignore in
  let held, release = hold t in
  let runs = Atomic.make 0 in
  rejected Expired (fun () -> Workers.submit ~deadline:0.02 t (fun () -> Atomic.incr runs));
  rejected Expired (fun () -> Workers.submit ~deadline:0. t (fun () -> Atomic.incr runs));
  release ();
  Task.await held;
  check_equal "runs" 0 (Atomic.get runs);
  check_raises "raises" Task.Deadline_exceeded (fun () ->
      Workers.submit ~deadline:0.02 t (fun () -> Task.sleep 10.));
  check_equal "in time" 5 (Workers.submit ~deadline:10. t (fun () -> 5));
  check_equal "expired" 2 (Workers.stats t).expired;
  Workers.drain t

let gives_up () =
  let t = Workers.create ~workers:1 ignore in
  let held, release = hold t in
  let ran = Atomic.make false in
  check_raises "raises" Task.Deadline_exceeded (fun () ->
      Task.with_deadline 0.02 (fun () -> Workers.submit t (fun () -> Atomic.set ran true)));
  check_equal "queued" 0 (Workers.stats t).queued;
  release ();
  Task.await held;
  let cancelled = Atomic.make false in
  check_equal "the first" "quick"
    (Task.first
       [
         (fun () ->
           Workers.submit t (fun () ->
               match Task.sleep 10. with
               | () -> "slow"
               | exception exn ->
                 Atomic.set cancelled true;
                 raise exn));
         (fun () ->
           Task.sleep 0.05;
           "quick");
       ]);
  Workers.submit t Fun.id;
  check_equal "never ran, and was told" (false, true) (Atomic.get ran, Atomic.get cancelled);
  Workers.drain t

(* {2 Jobs are tasks} *)

let sum n = Muster.parallel_reduce ~start:1 ~finish:n ~combine:( + ) ~init:0 Fun.id

let jobs_are_tasks () =
  let t = Workers.create ~workers:2 ignore in
  let job f = Workers.submit t (fun () -> f ()) in
  check_equal "forks" (1, 2) (job (fun () -> Muster.both (fun () -> 1) (fun () -> 2)));
  check_equal "loops" 5_050 (job (fun () -> sum 100));
  check_equal "waits" () (job (fun () -> Task.sleep 0.002));
  check_equal "tasks" 3 (job (fun () -> Task.await (Task.async (fun () -> 3))));
  let forked s = Task.(await (fork s (fun () -> 4))) in
  check_equal "scopes" 4 (job (fun () -> Task.scope forked));
  check_equal "awaited twice" [ 5; 5 ]
    (let task = Workers.post t (fun () -> 5) in
     Task.[ await task; await task ]);
  let slow () = Workers.post t (fun () -> Task.sleep 100.) in
  let task = slow () in
  Task.cancel task;
  check_raises "cancelled" Task.Cancelled (fun () -> Task.await task);
  check_equal "raced" 6
    (Task.first [ (fun () -> Task.await (slow ()); 0); (fun () -> job (fun () -> 6)) ]);
  check_raises "limited" Task.Deadline_exceeded (fun () ->
      Task.with_deadline 0.01 (fun () -> job (fun () -> Task.sleep 100.)));
  check_raises "limited within" Task.Deadline_exceeded (fun () ->
      job (fun () -> Task.with_deadline 0.01 (fun () -> Task.sleep 100.)));
  let local = Task.local 0 in
  check_equal "inherits" 7
    (Task.with_local local 7 (fun () -> job (fun () -> Task.get_local local)));
  Workers.drain ~grace:0.01 t

(* A post within a scope is stopped with it, queued or not. *)
let in_a_scope () =
  let t = Workers.create ~workers:1 ignore in
  let running = ref None and queued = ref None in
  (try
     Task.scope (fun _ ->
         running := Some (Workers.post t (fun () -> Task.sleep 100.));
         queued := Some (Workers.post t ignore);
         raise Boom)
   with Boom -> ());
  let ended task =
    check_raises "stopped" Task.Cancelled (fun () -> Task.await (Option.get task))
  in
  List.iter ended [ !running; !queued ];
  Workers.submit t ignore;
  Workers.drain t

(* A lock that a job leaves behind is not the next one's. *)
let holders () =
  let t = Workers.create ~workers:1 ignore and lock = Muster.Mutex.create () in
  Workers.submit t (fun () -> Muster.Mutex.lock lock);
  let next = Workers.post t (fun () -> Muster.Mutex.protect lock ignore) in
  Task.sleep 0.002;
  check_equal "waits" false (Task.is_done next);
  Task.cancel next;
  check_raises "cancelled" Task.Cancelled (fun () -> Task.await next);
  Workers.drain t

(* Tasks of the pool come to their turn beside jobs without end. *)
let others_get_their_turn () =
  let t = Workers.create ~workers:1 ~queue:max_int ignore and over = Atomic.make false in
  let rec job () = if not (Atomic.get over) then ignore (Workers.post t job) in
  ignore (Workers.post t job);
  Task.await (Task.async ignore);
  Muster.Pool.run (Muster.Pool.current ()) ignore;
  Atomic.set over true;
  Workers.drain t

(* {2 Nested jobs} *)

let nested () =
  let made = Atomic.make 0 and closed = Atomic.make 0 in
  let count n _ = Atomic.incr n in
  let t = Workers.create ~workers:2 ~close:(count closed) (count made) in
  let rec down n = if n = 0 then 0 else 1 + Workers.submit t (fun () -> down (n - 1)) in
  let depth () = Workers.submit t (fun () -> down 5) in
  check_equal "depths" [ 5; 5; 5; 5 ] (Task.all [ depth; depth; depth; depth ]);
  let children () = Task.all (List.init 4 (fun i () -> Workers.submit t (fun () -> i))) in
  check_equal "by children" [ 0; 1; 2; 3 ] (Workers.submit t (fun () -> children ()));
  Workers.drain t;
  check_equal "all closed" (Atomic.get made) (Atomic.get closed)

(* {2 Drain} *)

let drains () =
  let t = Workers.create ~workers:1 ignore in
  let held, release = hold t in
  let queued = Workers.post t (fun () -> 7) in
  let drainer = Task.async (fun () -> Workers.drain t) in
  let rec until_closed () =
    match Workers.post t Fun.id with
    | task ->
      Task.cancel task;
      Task.sleep 0.001;
      until_closed ()
    | exception Workers.Rejected Draining -> ()
  in
  until_closed ();
  check_equal "waits" false (Task.is_done drainer);
  release ();
  Task.await drainer;
  Task.await held;
  check_equal "the queued one" 7 (Task.await queued);
  rejected Draining (fun () -> Workers.submit t Fun.id)

let grace () =
  let t = Workers.create ~workers:1 ignore in
  let running = Workers.post t (fun () -> Task.sleep 100.) in
  let queued = Workers.post t (fun () -> ()) in
  let late = Workers.post ~priority:3 t (fun () -> ()) in
  Workers.drain ~grace:0.03 t;
  List.iter (fun task -> check_raises "raises" Task.Cancelled (fun () -> Task.await task))
    [ running; queued; late ];
  check_equal "cancelled" 3 (Workers.stats t).cancelled

(* A job would wait for itself; it begins the end, and a drain outside waits for that. *)
let drain_within () =
  let closed = Atomic.make 0 in
  let t = Workers.create ~workers:2 ~close:(fun () -> Atomic.incr closed) ignore in
  let drain () = Workers.drain ~grace:0.02 t in
  let slow = Workers.post t (fun () -> Task.sleep 100.) in
  check_equal "returns" 1 (Workers.submit t (fun () -> drain (); 1));
  rejected Draining (fun () -> Workers.submit t ignore);
  check_raises "cut" Task.Cancelled (fun () -> Task.await slow);
  Workers.drain t;
  Workers.drain t;
  check_equal "values" true (Atomic.get closed >= 1)

(* A task that a job has left behind has its jobs taken until the drain is over, and none later. *)
let left_behind () =
  let t = Workers.create ~workers:1 ignore and go = Muster.Latch.create 1 in
  let late () =
    Muster.Latch.await go;
    Workers.submit t ignore
  in
  let left = Workers.submit t (fun () -> Task.async late) in
  Workers.drain t;
  Muster.Latch.count_down go;
  rejected Draining (fun () -> Task.await left);
  check_equal "began" 1 (Workers.stats t).returned

(* Each task is done when the drain returns. *)
let all_answered () =
  for round = 1 to 200 do
    let t = Workers.create ~workers:2 ~queue:max_int ignore in
    let tasks = List.init (round mod 7) (fun _ -> Workers.post t ignore) in
    Workers.drain t;
    check_equal "done" true (List.for_all Task.is_done tasks)
  done

(* The handler may interrupt any code, a job's too. *)
let by_signal () =
  for round = 1 to 8 do
    let t = Workers.create ~workers:2 ~queue:max_int ignore in
    let busy () = ignore (Sys.opaque_identity (sum 1_000)) in
    let drain _ = Workers.drain ~grace:(0.01 *. float (round mod 3)) t in
    let before = Sys.signal Sys.sigusr1 (Signal_handle drain) in
    let answered = Atomic.make 0 in
    let client () =
      for _ = 1 to 2_000 do
        (try Workers.submit t busy with Workers.Rejected _ | Task.Cancelled -> ());
        Atomic.incr answered
      done
    in
    let tell () =
      Task.sleep 0.001;
      Unix.kill (Unix.getpid ()) Sys.sigusr1
    in
    ignore (Task.all [ client; client; tell ]);
    Workers.drain t;
    Sys.set_signal Sys.sigusr1 before;
    check_equal "answers" 4_000 (Atomic.get answered);
    let { Workers.busy; queued; returned; cancelled; draining; failed; _ } = Workers.stats t in
    check_equal "none lost" (4_000, 0, 0, 0)
      (returned + cancelled + draining, busy, queued, failed)
  done

(* {2 Ctrl-C} *)

let never () = Muster.Latch.await (Muster.Latch.create 1)

let reporting f =
  let reported = Atomic.make 0 in
  Task.set_uncaught_handler (fun _ _ -> Atomic.incr reported);
  f ();
  Gc.full_major ();
  Muster.parallel_for ~grain:1 ~start:1 ~finish:100 ignore;
  check_int "reported" 0 (Atomic.get reported)

(* It strikes a job whose submitter has given up, or gives up at that time. *)
let struck_when_given_up () =
  let t = Workers.create ~workers:1 ignore in
  let give_up late =
    let begun = Muster.Latch.create 1 and given_up = Muster.Latch.create 1 in
    let job () =
      Muster.Latch.count_down begun;
      try never ()
      with Task.Cancelled ->
        if late then Muster.Latch.await given_up;
        raise Sys.Break
    in
    let submit () = Workers.submit t job and give_up () = Muster.Latch.await begun in
    Task.first [ submit; give_up ];
    Muster.Latch.count_down given_up;
    never ()
  in
  let check late = check_raises "the caller's wait" Sys.Break (fun () -> give_up late) in
  reporting (fun () -> List.iter check [ true; false ]);
  Workers.drain t

(* What a job raises as its submitter has given up is dropped, as that of a loser of [first]. *)
let raises_when_given_up () =
  let t = Workers.create ~workers:1 ignore and begun = Muster.Latch.create 1 in
  let job () =
    Muster.Latch.count_down begun;
    try never () with Task.Cancelled -> raise Boom
  in
  let give_up () = Muster.Latch.await begun in
  reporting (fun () ->
      Task.first [ (fun () -> Workers.submit t job); give_up ];
      Workers.drain t);
  check_int "failed" 1 (Workers.stats t).failed

(* It strikes a job that nobody awaits. *)
let drain_raises () =
  let struck () =
    let t = Workers.create ~workers:2 ignore and go = Muster.Latch.create 1 in
    let job () =
      Muster.Latch.await go;
      raise Sys.Break
    in
    ignore (Workers.post t job);
    let awaited = Workers.post t job in
    let drain () =
      Muster.Latch.count_down go;
      check_raises "awaited" Sys.Break (fun () -> Task.await awaited);
      Workers.drain t
    in
    check_raises "drain" Sys.Break drain;
    Workers.drain t
  in
  reporting struck

(* A submitter's own limit of time and the job's are up at the same moment. *)
let rejected_when_given_up () =
  let t = Workers.create ~workers:1 ~queue:1000 ignore and go = Muster.Latch.create 1 in
  let busy = Workers.post t (fun () -> Muster.Latch.await go) in
  let submit () =
    let late () = Workers.submit ~deadline:0.005 t ignore in
    try Task.with_deadline 0.005 late with Task.Deadline_exceeded | Workers.Rejected Expired -> ()
  in
  let rounds () =
    for _ = 1 to 40 do
      ignore (Task.all (List.init 100 (fun _ -> submit)))
    done
  in
  let finish () =
    Muster.Latch.count_down go;
    Task.await busy;
    Workers.drain t
  in
  Fun.protect ~finally:finish (fun () -> reporting rounds)

(* {2 All at random} *)

(* Each job is answered once, whatever cancels, raises and drains meanwhile. *)
let storm () =
  reporting @@ fun () ->
  let alive = Atomic.make 0 in
  let make _ =
    Atomic.incr alive;
    Atomic.make false
  and close _ = Atomic.decr alive in
  let reset w = if Random.int 4 = 0 then (close w; raise Exit) else w in
  let t = Workers.create ~workers:2 ~queue:16 ~reset ~close make in
  let clashes = Atomic.make 0 and answers = Atomic.make 0 in
  let job taken =
    if Atomic.exchange taken true then Atomic.incr clashes;
    let finish () = Atomic.set taken false in
    Fun.protect ~finally:finish (fun () ->
        match Random.int 5 with
        | 0 -> raise Boom
        | 1 -> Task.sleep 0.001
        | 2 -> Workers.submit t ignore
        | _ -> Task.yield ())
  in
  let submitter _ () =
    for _ = 1 to 200 do
      (match
         if Random.bool () then Workers.submit ~deadline:(Random.float 0.003) t job
         else Task.with_deadline (Random.float 0.003) (fun () -> Workers.submit t job)
       with
      | () | (exception (Boom | Exit | Workers.Rejected _ | Task.Deadline_exceeded)) -> ());
      Atomic.incr answers
    done
  in
  ignore (Task.all (List.init 8 submitter));
  Workers.drain ~grace:1. t;
  check_equal "answers" 1_600 (Atomic.get answers);
  check_equal "clashes" 0 (Atomic.get clashes);
  let { Workers.busy; queued; _ } = Workers.stats t in
  check_equal "nobody there" (0, 0) (busy, queued)

(* {2 Statistics} *)

let statistics () =
  let t = Workers.create ~name:"a \"b\"\\" ~workers:1 ignore in
  for _ = 1 to 10 do
    Workers.submit t (fun () -> Task.sleep 0.002)
  done;
  check_raises "raises" Boom (fun () -> Workers.submit t (fun () -> raise Boom));
  let { Workers.returned; failed; work_time; queue_time; _ } = Workers.stats t in
  check_equal "counts" [ 10; 1; 11; 11 ] [ returned; failed; work_time.count; queue_time.count ];
  let median = Workers.quantile 0.5 work_time in
  check_equal "median" true (median >= 0.002 && median < 0.1);
  check_equal "none above all" true (Workers.quantile 1. work_time >= median);
  let text = Format.asprintf "%a" Workers.pp_prometheus t in
  let has line = List.mem line (String.split_on_char '\n' text) in
  let label = {|name="a \"b\"\\"|} in
  let expect line = check_equal line true (has line) in
  expect "# TYPE muster_workers_jobs_total counter";
  expect (Printf.sprintf {|muster_workers_jobs_total{%s,outcome="returned"} 10|} label);
  expect (Printf.sprintf {|muster_workers_work_seconds_bucket{%s,le="+Inf"} 11|} label);
  expect (Printf.sprintf {|muster_workers_work_seconds_count{%s} 11|} label);
  expect (Printf.sprintf {|muster_workers_work_seconds_sum{%s} %.9f|} label work_time.seconds);
  let other = Workers.create ignore and another = Workers.create ignore in
  let label t = List.nth (String.split_on_char '"' (Format.asprintf "%a" Workers.pp_prometheus t)) 1 in
  check_equal "each has its name" false (label other = label another);
  List.iter Workers.drain [ t; other; another ]

(* Of each metric one HELP and one TYPE, its lines beside each other, and none twice. *)
let check_text text =
  let lines = List.filter (( <> ) "") (String.split_on_char '\n' text) in
  let is_head line = String.starts_with ~prefix:"#" line in
  let metric line =
    let name = List.nth (String.split_on_char ' ' line) (if is_head line then 2 else 0) in
    let name = List.hd (String.split_on_char '{' name) in
    let is_end_of suffix = String.ends_with ~suffix:("seconds_" ^ suffix) name in
    if List.exists is_end_of [ "bucket"; "sum"; "count" ] then
      String.sub name 0 (String.rindex name '_')
    else name
  in
  let rec runs = function
    | a :: (b :: _ as rest) when metric a = metric b -> runs rest
    | a :: rest -> metric a :: runs rest
    | [] -> []
  in
  let metrics = List.sort_uniq compare (List.map metric lines) in
  check_equal "metrics" metrics (List.sort compare (runs lines));
  check_equal "heads" (2 * List.length metrics) (List.length (List.filter is_head lines));
  let series line = String.sub line 0 (String.rindex line ' ') in
  let samples = List.filter (fun line -> not (is_head line)) lines in
  check_equal "series" (List.length samples)
    (List.length (List.sort_uniq compare (List.map series samples)));
  if Sys.command "command -v promtool >/dev/null" = 0 then begin
    let promtool = Unix.open_process_out "promtool check metrics" in
    output_string promtool text;
    check_equal "promtool" true (Unix.close_process_out promtool = WEXITED 0)
  end

let one_text_for_several () =
  let a = Workers.create ~name:"a" ~workers:1 (fun _ -> Buffer.create 10)
  and b = Workers.create ~name:"b\xff {\"}\n" ~workers:2 Fun.id in
  Workers.submit a (fun buffer -> Buffer.add_char buffer 'a');
  check_equal "two jobs" [ 1; 2 ] (List.map (fun n -> Workers.submit b (fun _ -> n)) [ 1; 2 ]);
  let text = Format.asprintf "%a" Workers.pp_prometheus_all Workers.[ Any a; Any b ] in
  check_text text;
  check_text (Format.asprintf "%a" Workers.pp_prometheus a);
  let expect line =
    check_equal line true (List.mem line (String.split_on_char '\n' text))
  in
  expect {|muster_workers_jobs_total{name="a",outcome="returned"} 1|};
  expect {|muster_workers_jobs_total{name="b� {\"}\n",outcome="returned"} 2|};
  Workers.drain a;
  Workers.drain b

let on pool_size name f =
  case (Printf.sprintf "%s, %d workers" name pool_size) (fun () ->
      Muster.Pool.with_ ~domains:pool_size ~oversubscribe:true (fun _ -> f ()))

let everywhere name f = [ case (name ^ ", from outside") f; on 1 name f; on 2 name f; on 3 name f ]

let () =
  Alcotest.run "workers"
    [
      ("values", everywhere "one job a value" one_job_a_value);
      ("exceptions", everywhere "after an exception" after_an_exception);
      ("values that raise", everywhere "make, reset and close" states_that_raise);
      ("closing", everywhere "closings that raise" closings_that_raise);
      ("closing, twice", everywhere "drain beside a closing" drain_beside_closing);
      ("queue", everywhere "full" full @ everywhere "no queue" no_queue);
      ("order", everywhere "priorities" priorities @ everywhere "ageing" ageing);
      ("deadlines", everywhere "deadlines" deadlines @ everywhere "gives up" gives_up);
      ("tasks", everywhere "jobs are tasks" jobs_are_tasks @ everywhere "in a scope" in_a_scope);
      ("holders", everywhere "holders of locks" holders);
      ("turns", everywhere "others get their turn" others_get_their_turn);
      ("nested", everywhere "nested jobs" nested);
      ("drain", everywhere "drain" drains @ everywhere "grace" grace);
      ("drain in a job", everywhere "drain in a job" drain_within);
      ("left behind", everywhere "a task that a job has left" left_behind);
      ("all answered", everywhere "all answered" all_answered);
      ("signal", everywhere "drain in a signal's handler" by_signal);
      ("struck, given up", everywhere "struck when given up" struck_when_given_up);
      ("struck, drained", everywhere "drain raises Ctrl-C" drain_raises);
      ("raises, given up", everywhere "raises when given up" raises_when_given_up);
      ("rejected, given up", everywhere "rejected when given up" rejected_when_given_up);
      ("storm", everywhere "storm" storm);
      ("statistics", everywhere "statistics" statistics);
      ("text", [ case "one for several" one_text_for_several ]);
    ]
