(* Every kind of bad argument, and what it raises: one table, checked by test_bad_input and printed
   into doc/bad-input.md. *)

module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team

type case = {
  call : string;  (** as in the documents *)
  run : unit -> unit;
  expected : exn;
}

let invalid call run message = { call; run; expected = Invalid_argument ("Muster." ^ message) }
let raises call run expected = { call; run; expected }

(* {2 What is bad} *)

let closed = lazy (let pool = Pool.create ~name:"closed" ~domains:1 () in Pool.close pool; pool)
let closed () = Lazy.force closed
let finished () = Pool.with_ ~domains:1 (fun pool -> Pool.run pool (fun () -> Task.scope Fun.id))
let close_within () =
  Pool.with_ ~name:"open" ~domains:1 (fun pool -> Pool.run pool (fun () -> Pool.close pool))

(* A scope of a pool that was closed since. *)
let scope_of_closed () =
  let pool = Pool.create ~name:"gone" ~domains:1 () in
  let scope = Pool.run pool (fun () -> Task.scope Fun.id) in
  Pool.close pool;
  scope

let with_pool f = Pool.with_ ~domains:1 f
let index ~worker:_ _ = ()
let slice ~worker:_ ~start:_ ~count:_ = ()
let sum ?grain start finish = Muster.parallel_reduce ?grain ~start ~finish ~combine:( + ) ~init:0 Fun.id
let find ?grain start finish = Muster.parallel_find ?grain ~start ~finish (fun _ -> None)

(* {2 The table} *)

let pool_create =
  let bad what f n =
    let message = Printf.sprintf "Pool.create: %s = %d is less than 1" what n in
    invalid (Printf.sprintf "Pool.create ~%s:(%d)" what n) (fun () -> ignore (f n)) message
  in
  let domains domains = Pool.create ~domains () in
  let heap minor_heap_words = Pool.create ~minor_heap_words () in
  List.map (bad "domains" domains) [ 0; -1 ]
  @ List.map (bad "minor_heap_words" heap) [ 0; -1 ]
  @ [ invalid "Pool.with_ ~domains:(0)" (fun () -> Pool.with_ ~domains:0 ignore)
        "Pool.create: domains = 0 is less than 1" ]

let closed_pool =
  let bad call f fn = invalid call (fun () -> f (closed ())) (fn ^ ": pool \"closed\" is closed") in
  [
    bad "Pool.run closed" (fun pool -> Pool.run pool ignore) "Pool.run";
    bad "Team.broadcast closed" (fun pool -> Team.broadcast pool ignore) "Team.broadcast";
    bad "Team.for_n closed" (fun pool -> Team.for_n pool 4 index) "Team.for_n";
    bad "Team.for_n_dynamic closed" (fun pool -> Team.for_n_dynamic pool 4 index)
      "Team.for_n_dynamic";
    bad "Team.for_slices closed" (fun pool -> Team.for_slices pool 4 slice) "Team.for_slices";
    invalid "Pool.close, in a task of it" close_within
      "Pool.close: called from a task of pool \"open\", which it would wait for";
  ]

let team =
  let bad fn f n =
    invalid (Printf.sprintf "Team.%s pool (%d)" fn n) (fun () -> with_pool (fun pool -> f pool n))
      (Printf.sprintf "Team.%s: n = %d is negative" fn n)
  in
  List.concat_map
    (fun n ->
      [
        bad "for_n" (fun pool n -> Team.for_n pool n index) n;
        bad "for_n_dynamic" (fun pool n -> Team.for_n_dynamic pool n index) n;
        bad "for_slices" (fun pool n -> Team.for_slices pool n slice) n;
      ])
    [ -1; min_int ]

let loops =
  let bad fn f grain =
    invalid (Printf.sprintf "%s ~grain:(%d)" fn grain) (fun () -> f grain)
      (Printf.sprintf "%s: grain = %d is less than 1" fn grain)
  in
  List.concat_map
    (fun grain ->
      [
        bad "parallel_for" (fun grain -> Muster.parallel_for ~grain ~start:0 ~finish:9 ignore) grain;
        bad "parallel_reduce" (fun grain -> ignore (sum ~grain 0 9)) grain;
        bad "parallel_find" (fun grain -> ignore (find ~grain 0 9)) grain;
      ])
    [ 0; -1; min_int ]

let tasks =
  [
    invalid "Task.first []" (fun () -> Task.first []) "Task.first: empty list";
    invalid "Task.fork scope, which has ended" (fun () -> ignore (Task.fork (finished ()) ignore))
      "Task.fork: the scope has ended";
    invalid "Task.fork scope, of a closed pool"
      (fun () -> ignore (Task.fork (scope_of_closed ()) ignore))
      "Task.fork: the scope has ended";
    invalid "Task.with_deadline nan" (fun () -> Task.with_deadline nan ignore)
      "Task.with_deadline: seconds = nan is no time";
    raises "Task.with_deadline 0." (fun () -> Task.with_deadline 0. ignore) Task.Deadline_exceeded;
    raises "Task.with_deadline (-1.)" (fun () -> Task.with_deadline (-1.) ignore)
      Task.Deadline_exceeded;
    raises "Task.with_deadline neg_infinity" (fun () -> Task.with_deadline neg_infinity ignore)
      Task.Deadline_exceeded;
  ]

(* What might be taken for bad and is not: [run] raises if it gives anything else. *)
let fine =
  let is call expected f =
    (call, fun () -> if f () <> expected then failwith (call ^ ": another result"))
  in
  let none_called call loop = is call 0 (fun () -> let n = ref 0 in loop (fun _ -> incr n); !n) in
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
    is "parallel_for ~start:(max_int - 1) ~finish:max_int" 2 (last_two (max_int - 1) max_int);
    is "parallel_for ~start:min_int ~finish:(min_int + 1)" 2 (last_two min_int (min_int + 1));
    is "parallel_reduce ~start:1 ~finish:0" 0 (fun () -> sum 1 0);
    is "parallel_reduce ~grain:max_int" 45 (fun () -> sum ~grain:max_int 0 9);
    is "parallel_find ~start:min_int ~finish:max_int" (Some min_int) (fun () ->
        Muster.parallel_find ~start:min_int ~finish:max_int Option.some);
    is "parallel_scan (+) [||]" [||] (fun () -> Muster.parallel_scan ( + ) [||]);
    is "Task.all []" [] (fun () -> Task.all []);
    is "Task.with_deadline infinity" 1 (fun () -> Task.with_deadline infinity (fun () -> 1));
    is "Team.for_n pool 0" () (fun () -> with_pool (fun pool -> Team.for_n pool 0 index));
    is "Pool.close, twice" () (fun () -> Pool.close (closed ()));
    is "Pool.size closed" 1 (fun () -> Pool.size (closed ()));
    is "Pool.stats closed" 1 (fun () -> (Pool.stats (closed ())).size);
    is "Pool.find, no such name" true (fun () -> Pool.find "no such pool" = None);
    is "Pool.create ~domains:max_int" true (fun () ->
        Pool.with_ ~domains:max_int (fun pool -> Pool.size pool >= 1));
    is "Task.cancel, twice" () (fun () -> let t = Task.async ignore in Task.cancel t; Task.cancel t);
    is "Task.cancel_scope, which has ended" () (fun () -> Task.cancel_scope (finished ()));
    is "Task.fork scope, of another pool" 1 (fun () ->
        with_pool (fun pool ->
            Task.scope (fun s -> Pool.run pool (fun () -> Task.await (Task.fork s (fun () -> 1))))));
    is "Task.check, outside a task" () Task.check;
    is "Task.on_cancel, outside a task" () (fun () -> Task.on_cancel ignore);
    is "Task.blocking, outside a task" 1 (fun () -> Task.blocking (fun () -> 1));
  ]

let cases = pool_create @ closed_pool @ team @ loops @ tasks
