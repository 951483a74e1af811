(* Bad arguments of forks, loops, tasks, pools and teams. *)

open Bad_case
module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team

(* {2 What is bad} *)

let closed =
  lazy
    (let pool = Pool.create ~name:"closed" ~domains:1 () in
     Pool.close pool;
     pool)

let closed () = Lazy.force closed
let finished () = in_pool (fun _ -> Task.scope Fun.id)

let close_within () = Pool.with_ ~name:"open" ~domains:1 Pool.close

let with_pool f = Pool.with_ ~domains:1 f

let is_closing pool =
  match Pool.run pool ignore with () -> false | exception Invalid_argument _ -> true

(* In a pool that has begun to close. *)
let in_closing f =
  let pool = Pool.create ~name:"closing" ~domains:1 () and closer = ref None in
  let run scope =
    closer := Some (Domain.spawn (fun () -> Pool.close pool));
    in_thread (fun () ->
        while not (is_closing pool) do
          Thread.delay 0.001
        done);
    f scope
  in
  let close () = Option.iter Domain.join !closer in
  Fun.protect (fun () -> Pool.run pool (fun () -> Task.scope run)) ~finally:close

(* A thread beside one that is there. *)
let beside_closing f = in_closing (fun scope -> in_thread (fun () -> f scope))
let index ~worker:_ _ = ()
let slice ~worker:_ ~start:_ ~count:_ = ()

let sum ?grain start finish =
  Muster.parallel_reduce ?grain ~start ~finish ~combine:( + ) ~init:0 Fun.id

let each ~start:_ ~finish:_ = ()

let sum_of_parts ?grain start finish =
  let part ~start ~finish = finish - start + 1 in
  Muster.parallel_reduce_range ?grain ~start ~finish ~combine:( + ) ~init:0 part

let find ?grain start finish = Muster.parallel_find ?grain ~start ~finish (fun _ -> None)

(* {2 Loops} *)

let grains =
  let bad fn f grain =
    invalid
      (Printf.sprintf "%s ~grain:(%d)" fn grain)
      (fun () -> f grain)
      (Printf.sprintf "%s: grain = %d is less than 1" fn grain)
  in
  List.concat_map
    (fun grain ->
      [
        bad "parallel_for" (fun grain -> Muster.parallel_for ~grain ~start:0 ~finish:9 ignore) grain;
        bad "parallel_for2"
          (fun grain -> Muster.parallel_for2 ~grain ~start:(0, 0) ~finish:(9, 9) (fun _ _ -> ()))
          grain;
        bad "parallel_for_init"
          (fun grain ->
            Muster.parallel_for_init ~grain ~start:0 ~finish:9 ~init:ignore (fun () _ -> ()))
          grain;
        bad "parallel_reduce" (fun grain -> ignore (sum ~grain 0 9)) grain;
        bad "parallel_find" (fun grain -> ignore (find ~grain 0 9)) grain;
        bad "parallel_for_range"
          (fun grain -> Muster.parallel_for_range ~grain ~start:0 ~finish:9 each)
          grain;
        bad "parallel_reduce_range" (fun grain -> ignore (sum_of_parts ~grain 1 0)) grain;
      ])
    [ 0; -1; min_int ]

let ranges =
  let none_called call loop =
    fine call 0 (fun () ->
        let n = ref 0 in
        loop (fun _ -> incr n);
        !n)
  in
  let for_ start finish f = Muster.parallel_for ~start ~finish f in
  let at = Atomic.make 0 in
  let last_two start finish () =
    Atomic.set at 0;
    for_ start finish (fun i -> ignore (Atomic.fetch_and_add at (if i >= start then 1 else 100)));
    Atomic.get at
  in
  [
    none_called "parallel_for ~start:1 ~finish:0" (for_ 1 0);
    none_called "parallel_for ~start:max_int ~finish:min_int" (for_ max_int min_int);
    fine "parallel_for ~start:(max_int - 1) ~finish:max_int" 2 (last_two (max_int - 1) max_int);
    fine "parallel_for ~start:min_int ~finish:(min_int + 1)" 2 (last_two min_int (min_int + 1));
    fine "parallel_for2 ~start:(0, 1) ~finish:(9, 0)" () (fun () ->
        Muster.parallel_for2 ~start:(0, 1) ~finish:(9, 0) (fun _ -> raise Exit));
    fine "parallel_for2 ~start:(1, 0) ~finish:(0, 9)" () (fun () ->
        Muster.parallel_for2 ~start:(1, 0) ~finish:(0, 9) (fun _ -> raise Exit));
    fine "parallel_for_init ~start:1 ~finish:0" () (fun () ->
        Muster.parallel_for_init ~start:1 ~finish:0 ~init:(fun () -> raise Exit) (fun () -> ignore));
    fine "parallel_reduce ~start:1 ~finish:0" 0 (fun () -> sum 1 0);
    fine "parallel_reduce ~grain:max_int" 45 (fun () -> sum ~grain:max_int 0 9);
    fine "parallel_for_range ~start:1 ~finish:0" () (fun () ->
        Muster.parallel_for_range ~start:1 ~finish:0 (fun ~start:_ -> raise Exit));
    fine "parallel_reduce_range ~start:1 ~finish:0" 0 (fun () -> sum_of_parts 1 0);
    fine "parallel_reduce_range ~grain:max_int" 10 (fun () -> sum_of_parts ~grain:max_int 0 9);
    fine "parallel_reduce_range ~start:(max_int - 1) ~finish:max_int" 2 (fun () ->
        sum_of_parts (max_int - 1) max_int);
    fine "parallel_find ~start:min_int ~finish:max_int" (Some min_int) (fun () ->
        Muster.parallel_find ~start:min_int ~finish:max_int Option.some);
    fine "parallel_scan (+) [||]" [||] (fun () -> Muster.parallel_scan ( + ) [||]);
  ]

let loops = { title = "Muster"; rows = grains @ ranges; harmless = [ "both"; "random_state" ] }

(* {2 Tasks} *)

let deadlines =
  [
    invalid "Task.with_deadline nan"
      (fun () -> Task.with_deadline nan ignore)
      "Task.with_deadline: seconds = nan is no time";
    raises "Task.with_deadline 0." (fun () -> Task.with_deadline 0. ignore) Task.Deadline_exceeded;
    raises "Task.with_deadline (-1.)"
      (fun () -> Task.with_deadline (-1.) ignore)
      Task.Deadline_exceeded;
    raises "Task.with_deadline neg_infinity"
      (fun () -> Task.with_deadline neg_infinity ignore)
      Task.Deadline_exceeded;
    fine "Task.with_deadline infinity" 1 (fun () -> Task.with_deadline infinity (fun () -> 1));
    fine "Task.with_deadline max_float" 1 (fun () -> Task.with_deadline max_float (fun () -> 1));
  ]

(* A scope of a pool that was closed since. *)
let scope_of_closed () =
  let pool = Pool.create ~name:"gone" ~domains:1 () in
  let scope = Pool.run pool (fun () -> Task.scope Fun.id) in
  Pool.close pool;
  scope

let scopes =
  let fork scope = ignore (Task.fork scope ignore) in
  let in_another () =
    in_pool (fun _ ->
        Task.scope (fun s -> in_pool (fun _ -> Task.await (Task.fork s (fun () -> 1)))))
  in
  let cancelled () =
    in_pool (fun _ ->
        Task.scope (fun s ->
            Task.cancel_scope s;
            Task.await (Task.fork s ignore)))
  in
  [
    invalid "Task.fork scope, which has ended"
      (fun () -> fork (finished ()))
      "Task.fork: the scope has ended";
    invalid "Task.fork scope, of a closed pool"
      (fun () -> fork (scope_of_closed ()))
      "Task.fork: the scope has ended";
    fine "Task.fork scope, of a thread outside its pool, which closes" 1 (fun () ->
        beside_closing (fun s -> Task.await (Task.fork s (fun () -> 1))));
    raises "Task.fork scope, which was cancelled" cancelled Task.Cancelled;
    fine "Task.fork scope, of another pool" 1 in_another;
    fine "Task.cancel_scope, which has ended" () (fun () -> Task.cancel_scope (finished ()));
    fine "Task.cancel_scope, of a closed pool" () (fun () -> Task.cancel_scope (scope_of_closed ()));
  ]

let bounds =
  let bad fn what f n =
    invalid
      (Printf.sprintf "Task.%s ~%s:(%d)" fn what n)
      (fun () -> f n)
      (Printf.sprintf "Task.%s: %s = %d is less than 1" fn what n)
  in
  let each n =
    [
      bad "map" "max" (fun max -> ignore (Task.map ~max succ [ 1 ])) n;
      bad "iter" "max" (fun max -> Task.iter ~max ignore [ 1 ]) n;
      bad "iter_seq" "max" (fun max -> Task.iter_seq ~max ignore Seq.empty) n;
      bad "with_map" "window"
        (fun window -> Task.with_map ~window succ Seq.empty ignore)
        n;
      bad "with_map" "max" (fun max -> Task.with_map ~max ~window:1 succ Seq.empty ignore) n;
    ]
  in
  let tail (results : int Seq.t) =
    match results () with Seq.Cons (_, tail) -> tail | Nil -> Seq.empty
  in
  let numbers () = Seq.init 3 Fun.id in
  List.concat_map each [ 0; -1; min_int ]
  @ [
      fine "Task.map ~max:max_int" [ 2; 3 ] (fun () -> Task.map ~max:max_int succ [ 1; 2 ]);
      fine "Task.with_map ~window:max_int" [ 1; 2; 3 ] (fun () ->
          Task.with_map ~window:max_int succ (numbers ()) List.of_seq);
      invalid "Task.with_map, a result after its function"
        (fun () -> (Task.with_map ~window:2 Fun.id (numbers ()) tail) () |> ignore)
        "Task.with_map: a result was asked for after the function had ended";
      raises "Task.with_map, a result asked for twice"
        (fun () ->
          Task.with_map ~window:2 Fun.id (numbers ()) (fun results ->
              ignore (tail results ());
              ignore (tail results ())))
        Seq.Forced_twice;
    ]

let tasks =
  {
    title = "Task";
    rows =
      [
        fine "Task.async, of a thread beside one in a pool that closes" 1 (fun () ->
            beside_closing (fun _ -> Task.await (Task.async (fun () -> 1))));
        fine "Task.async, in a pool that closes" 1 (fun () ->
            in_closing (fun _ -> Task.await (Task.async (fun () -> 1))));
        fine "Task.async, with the default pool closed" 1 (fun () ->
            Pool.close (Pool.default ());
            Task.await (Task.async (fun () -> 1)));
        invalid "Task.first []" (fun () -> Task.first []) "Task.first: empty list";
        fine "Task.all []" [] (fun () -> Task.all []);
        fine "Task.await, of a task of a closed pool" 1 (fun () ->
            Task.await (in_pool (fun _ -> Task.async (fun () -> 1))));
        invalid "Task.await, of the task itself"
          (fun () ->
            in_pool (fun _ ->
                let itself = Atomic.make None in
                let rec work () =
                  match Atomic.get itself with
                  | Some t -> Task.await t
                  | None ->
                    Domain.cpu_relax ();
                    work ()
                in
                let t = Task.async work in
                Atomic.set itself (Some t);
                Task.await t))
          "Task.await: the task that awaits is the awaited one";
        fine "Task.cancel, twice" () (fun () ->
            let t = Task.async ignore in
            Task.cancel t;
            Task.cancel t);
        fine "Task.cancel, of a task of a closed pool" () (fun () ->
            Task.cancel (in_pool (fun _ -> Task.async ignore)));
        fine "Task.check, outside a task" () Task.check;
        fine "Task.yield, outside a task" () Task.yield;
        fine "Task.on_cancel, outside a task" () (fun () -> Task.on_cancel ignore);
        fine "Task.with_on_cancel, outside a task" 1 (fun () ->
            Task.with_on_cancel ignore (fun () -> 1));
        fine "Task.blocking, outside a task" 1 (fun () -> Task.blocking (fun () -> 1));
        invalid "Task.any []" (fun () -> Task.any []) "Task.any: empty list";
        invalid "Task.any, of the task itself"
          (fun () ->
            in_pool (fun _ ->
                let itself, told = Muster.Promise.create () in
                let t = Task.async (fun () -> Task.any [ Task.await itself ]) in
                Muster.Promise.resolve told t;
                Task.await t))
          "Task.any: the task that awaits is an awaited one";
        invalid "Task.sleep nan" (fun () -> Task.sleep nan) "Task.sleep: seconds = nan is no time";
        fine "Task.sleep 0." () (fun () -> Task.sleep 0.);
        fine "Task.sleep (-1.)" () (fun () -> Task.sleep (-1.));
        fine "Task.sleep neg_infinity" () (fun () -> Task.sleep neg_infinity);
        raises "Task.bracket, release raises"
          (fun () -> Task.bracket ~acquire:ignore ~release:(fun () -> raise Exit) ignore)
          (Fun.Finally_raised Exit);
        fine "Task.protect, outside a task" 1 (fun () -> Task.protect (fun () -> 1));
        fine "Task.get_local, outside a task" 1 (fun () -> Task.get_local (Task.local 1));
        fine "Task.with_local, outside a task" 2 (fun () ->
            let l = Task.local 1 in
            Task.with_local l 2 (fun () -> Task.get_local l));
      ]
      @ bounds @ scopes @ deadlines;
    harmless =
      [ "Task.scope"; "Task.set_uncaught_handler"; "Task.is_done"; "Task.peek"; "Task.local" ];
  }

(* {2 Promises} *)

let promises =
  let resolved () =
    let _, resolver = Muster.Promise.create () in
    Muster.Promise.resolve resolver 1;
    resolver
  in
  let cancelled () =
    let promise, resolver = Muster.Promise.create () in
    Task.cancel promise;
    resolver
  in
  let again fn f =
    [
      invalid
        (Printf.sprintf "Promise.%s, twice" fn)
        (fun () -> f (resolved ()))
        (Printf.sprintf "Promise.%s: the promise has been resolved already" fn);
      fine (Printf.sprintf "Promise.%s, of a cancelled one" fn) () (fun () -> f (cancelled ()));
    ]
  in
  let tries fn f =
    [
      fine (Printf.sprintf "Promise.%s, twice" fn) false (fun () -> f (resolved ()));
      fine (Printf.sprintf "Promise.%s, of a cancelled one" fn) false (fun () -> f (cancelled ()));
    ]
  in
  {
    title = "Promise";
    rows =
      again "resolve" (fun r -> Muster.Promise.resolve r 2)
      @ again "fail" (fun r -> Muster.Promise.fail r Exit)
      @ tries "try_resolve" (fun r -> Muster.Promise.try_resolve r 2)
      @ tries "try_fail" (fun r -> Muster.Promise.try_fail r Exit);
    harmless = [ "Promise.create" ];
  }

(* {2 Pools} *)

let pool_create =
  let bad what f n =
    let message = Printf.sprintf "Pool.create: %s = %d is less than 1" what n in
    invalid (Printf.sprintf "Pool.create ~%s:(%d)" what n) (fun () -> ignore (f n)) message
  in
  let domains domains = Pool.create ~domains () in
  let bad_default n =
    invalid
      (Printf.sprintf "Pool.set_default ~domains:(%d)" n)
      (fun () -> Pool.set_default ~domains:n)
      (Printf.sprintf "Pool.set_default: domains = %d is less than 1" n)
  in
  let too_much n =
    invalid
      (Printf.sprintf "Pool.create ~minor_heap_words:(%d)" n)
      (fun () -> ignore (Pool.create ~domains:1 ~minor_heap_words:n ()))
      (Printf.sprintf "Pool.create: minor_heap_words = %d is more than %d" n (1 lsl 28))
  in
  let heap minor_heap_words = Pool.create ~minor_heap_words () in
  List.concat_map
    (fun n -> [ bad "domains" domains n; bad "minor_heap_words" heap n ])
    [ 0; -1; min_int ]
  @ List.map too_much [ (1 lsl 28) + 1; max_int ]
  @ List.map bad_default [ 0; -1; min_int ]
  @ [
      invalid "Pool.with_ ~domains:(0)"
        (fun () -> Pool.with_ ~domains:0 ignore)
        "Pool.with_: domains = 0 is less than 1";
      fine "Pool.create ~domains:max_int" true (fun () ->
          Pool.with_ ~domains:max_int (fun pool -> Pool.size pool >= 1));
      fine "Pool.create ~name:\"\"" true (fun () ->
          Pool.with_ ~name:"" ~domains:1 (fun pool -> Pool.find "" |> Option.get == pool));
    ]

let pools =
  {
    title = "Pool";
    rows =
      pool_create
      @ [
          invalid "Pool.run closed"
            (fun () -> Pool.run (closed ()) ignore)
            "Pool.run: pool \"closed\" is closed";
          invalid "Pool.close, in a task of it" close_within
            "Pool.close: called from a task of pool \"open\", which it would wait for";
          fine "Pool.close, twice" () (fun () -> Pool.close (closed ()));
          fine "Pool.size closed" 1 (fun () -> Pool.size (closed ()));
          fine "Pool.stats closed" 1 (fun () -> (Pool.stats (closed ())).size);
          fine "Pool.find, no such name" true (fun () -> Pool.find "no such pool" = None);
          fine "Pool.find, of a closed pool" true (fun () ->
              ignore (closed ());
              Pool.find "closed" = None);
        ];
    harmless = [ "Pool.default"; "Pool.current"; "Pool.name"; "Pool.equal"; "Pool.diff"; "Pool.pp_stats" ];
  }

(* {2 Teams} *)

let team_closed =
  let bad fn f =
    invalid (fn ^ " closed") (fun () -> f (closed ())) (fn ^ ": pool \"closed\" is closed")
  in
  [
    bad "Team.broadcast" (fun pool -> Team.broadcast pool ignore);
    bad "Team.for_n" (fun pool -> Team.for_n pool 4 index);
    bad "Team.for_n_dynamic" (fun pool -> Team.for_n_dynamic pool 4 index);
    bad "Team.for_slices" (fun pool -> Team.for_slices pool 4 slice);
  ]

let team_lengths =
  let bad fn f n =
    invalid
      (Printf.sprintf "Team.%s pool (%d)" fn n)
      (fun () -> with_pool (fun pool -> f pool n))
      (Printf.sprintf "Team.%s: n = %d is negative" fn n)
  in
  let none fn f = fine ("Team." ^ fn ^ " pool 0") () (fun () -> with_pool (fun pool -> f pool 0)) in
  let each (fn, f) = [ bad fn f (-1); bad fn f min_int; none fn f ] in
  List.concat_map each
    [
      ("for_n", fun pool n -> Team.for_n pool n index);
      ("for_n_dynamic", fun pool n -> Team.for_n_dynamic pool n index);
      ("for_slices", fun pool n -> Team.for_slices pool n slice);
    ]

let slice_of_huge =
  fine "Team.for_slices pool max_int" max_int (fun () ->
      let total = ref 0 in
      with_pool (fun pool ->
          Team.for_slices pool max_int (fun ~worker:_ ~start:_ ~count -> total := !total + count));
      !total)

let teams = { title = "Team"; rows = team_closed @ team_lengths @ [ slice_of_huge ]; harmless = [] }
let cpu = { title = "Cpu"; rows = []; harmless = [ "Cpu.available" ] }

(* {2 Workers} *)

module Workers = Muster.Workers

let with_workers f =
  let t = Workers.create ~workers:1 ignore in
  Fun.protect ~finally:(fun () -> Workers.drain t) (fun () -> f t)

let in_closed_pool call () =
  let pool = Pool.create ~name:"closed" () in
  let t = Workers.create ~pool ignore in
  Pool.close pool;
  call t ignore

let workers_of_services =
  let made make = fun () -> ignore (make ignore : unit Workers.t) in
  let jobs fn call =
    let row what ~priority ~deadline message =
      invalid ("Workers." ^ fn ^ what)
        (fun () -> with_workers (fun t -> call ~priority ~deadline t))
        ("Workers." ^ fn ^ message)
    in
    [
      row " ~priority:(-1)" ~priority:(-1) ~deadline:1. ": priority = -1 is negative";
      row " ~deadline:nan" ~priority:0 ~deadline:nan ": deadline = nan is no time";
    ]
  in
  let drains grace why =
    invalid
      (Printf.sprintf "Workers.drain ~grace:(%g)" grace)
      (fun () -> Workers.drain ~grace (Workers.create ignore))
      (Printf.sprintf "Workers.drain: grace = %g is negative, or no number" why)
  in
  let drain_within () = with_workers (fun t -> Workers.submit t (fun () -> Workers.drain t)) in
  let times = (Workers.stats (Workers.create ignore)).work_time in
  {
    title = "Workers";
    rows =
      [
        invalid "Workers.create ~workers:0"
          (made (Workers.create ~workers:0))
          "Workers.create: workers = 0 is less than 1";
        invalid "Workers.create ~workers:max_int"
          (made (Workers.create ~workers:max_int))
          (Printf.sprintf "Workers.create: workers = %d is more than 1,000,000" max_int);
        invalid "Workers.create ~queue:(-1)"
          (made (Workers.create ~queue:(-1)))
          "Workers.create: queue = -1 is negative";
        drains (-1.) (-1.);
        drains nan nan;
        fine "Workers.drain, in a job" () drain_within;
        fine "Workers.submit ~priority:max_int" 1 (fun () ->
            with_workers (fun t -> Workers.submit ~priority:max_int t (fun () -> 1)));
        invalid "Workers.submit, in a closed pool" (in_closed_pool (fun t f -> Workers.submit t f))
          {|Workers.submit: pool "closed" is closed|};
        invalid "Workers.post, in a closed pool"
          (in_closed_pool (fun t f -> ignore (Workers.post t f)))
          {|Workers.post: pool "closed" is closed|};
        invalid "Workers.quantile 1.5"
          (fun () -> ignore (Workers.quantile 1.5 times))
          "Workers.quantile: 1.5 is not between 0 and 1";
        fine "Workers.quantile 0.5, of nothing" 0. (fun () -> Workers.quantile 0.5 times);
        raises "Workers.submit ~deadline:0."
          (fun () -> with_workers (fun t -> Workers.submit ~deadline:0. t Fun.id))
          (Workers.Rejected Expired);
      ]
      @ jobs "submit" (fun ~priority ~deadline t -> Workers.submit ~priority ~deadline t Fun.id)
      @ jobs "post" (fun ~priority ~deadline t ->
            ignore (Workers.post ~priority ~deadline t Fun.id));
    harmless = [ "Workers.stats"; "Workers.pp_prometheus"; "Workers.pp_prometheus_all" ];
  }

let tables = [ loops; tasks; promises; pools; teams; cpu; workers_of_services ]
