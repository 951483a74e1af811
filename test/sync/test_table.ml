(* Shared tables: the function of a key runs once, and others wait for it; a key is as before where a
   function raises or is cancelled; growth beside all of that. *)

open Harness
open Sync_support
module Table = Muster.Table
module Latch = Muster.Latch
module Task = Muster.Task

exception Boom of int

(* {2 As a sequential table} *)

type step = Add of int | Replace of int | Update of int | Remove of int | Find of int

let play t model step =
  let is_model key = check_equal "found" (Hashtbl.find_opt model key) (Table.find_opt t key) in
  match step with
  | Find key -> is_model key
  | Add key ->
    let value = Table.find_or_add t key (fun key -> 2 * key) in
    if not (Hashtbl.mem model key) then Hashtbl.replace model key (2 * key);
    check_int "added" (Hashtbl.find model key) value
  | Replace key ->
    Table.replace t key (-key);
    Hashtbl.replace model key (-key)
  | Update key ->
    Table.update t key (function Some v when v > 100 -> None | v -> Some (1 + Option.value v ~default:50));
    (match Hashtbl.find_opt model key with
    | Some v when v > 100 -> Hashtbl.remove model key
    | v -> Hashtbl.replace model key (1 + Option.value v ~default:50))
  | Remove key ->
    Table.remove t key;
    Hashtbl.remove model key

let content t = List.sort compare (Table.fold (fun key value found -> (key, value) :: found) t [])
let model_content model = List.sort compare (List.of_seq (Hashtbl.to_seq model))

let as_sequential ?hash ~keys ~steps () =
  let random = Random.State.make [| keys; steps |] in
  let t = Table.create ?hash () and model = Hashtbl.create 16 in
  for _ = 1 to steps do
    let key = Random.State.int random keys in
    let step =
      match Random.State.int random 8 with
      | 0 | 1 | 2 -> Add key
      | 3 -> Replace key
      | 4 | 5 -> Update key
      | 6 -> Remove key
      | _ -> Find key
    in
    play t model step
  done;
  check_equal "content" (model_content model) (content t);
  check_int "length" (Hashtbl.length model) (Table.length t);
  let seen = ref 0 in
  Table.iter (fun key value -> if Hashtbl.find model key = value then incr seen) t;
  check_int "iter" (Hashtbl.length model) !seen

let keys_of_any_type () =
  let t = Table.create () in
  let key i = (string_of_int (i mod 100), [ i mod 7 ], Float.of_int (i mod 3)) in
  for i = 1 to 3_000 do
    Table.update t (key i) (fun n -> Some (1 + Option.value n ~default:0))
  done;
  check_int "keys" 2_100 (Table.length t);
  check_bool "mem" true (Table.mem t (key 5));
  check_bool "mem, of none" false (Table.mem t ("", [], nan));
  check_int "all" 3_000 (Table.fold (fun _ n sum -> n + sum) t 0)

let own_equality () =
  let hash s = Hashtbl.hash (String.lowercase_ascii s) in
  let equal a b = String.lowercase_ascii a = String.lowercase_ascii b in
  let t = Table.create ~hash ~equal () in
  Table.replace t "One" 1;
  check_equal "found" (Some 1) (Table.find_opt t "ONE");
  Table.replace t "one" 2;
  check_int "one key" 1 (Table.length t)

(* {2 Once} *)

let computed_once ~between ~run =
  let runs = Array.init 200 (fun _ -> Atomic.make 0) and t = Table.create () in
  let compute i =
    Atomic.incr runs.(i);
    between ();
    2 * i
  in
  run (fun _ ->
      for i = 0 to 199 do
        check_int "value" (2 * i) (Table.find_or_add t i compute)
      done);
  each_once "computed" runs;
  check_int "length" 200 (Table.length t)

let every_update_counts ~between ~run =
  let t = Table.create () in
  let increment n =
    between ();
    Some (1 + Option.value n ~default:0)
  in
  run (fun _ ->
      for i = 0 to 199 do
        Table.update t (i mod 10) increment
      done);
  check_equal "counts" (List.init 10 (fun i -> (i, 20 * several))) (content t)

let grows_beside_all ~run =
  let t = Table.create () in
  run (fun me ->
      for i = 0 to 999 do
        check_int "shared" i (Table.find_or_add t i Fun.id);
        Table.replace t (-1 - i - (1_000 * me)) me;
        if i mod 3 = 0 then Table.remove t (-1 - i - (1_000 * me))
      done);
  check_int "length" (1_000 + (666 * several)) (Table.length t);
  check_int "fold" (Table.length t) (Table.fold (fun _ _ n -> n + 1) t 0)

let waiters_are_suspended () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 and t = Table.create () and sum = ref 0 in
  let compute _ =
    Latch.await gate;
    5
  in
  let tasks = all_waiting 10 (fun _ -> sum := !sum + Table.find_or_add t "key" compute) in
  check_equal "not yet" None (Table.find_opt t "key");
  check_int "other keys" 1 (Table.find_or_add t "other" (fun _ -> 1));
  check_equal "iter leaves it out" [ ("other", 1) ] (content t);
  Latch.count_down gate;
  List.iter Task.await tasks;
  check_int "sum" 50 !sum

let old_value_meanwhile () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 and t = Table.create () in
  Table.replace t 1 10;
  let slowly n =
    Latch.await gate;
    Option.map succ n
  in
  let first = waiting_task (fun () -> Table.update t 1 slowly) in
  let second = waiting_task (fun () -> Table.update t 1 slowly) in
  check_equal "find_opt" (Some 10) (Table.find_opt t 1);
  check_int "find_or_add" 10 (Table.find_or_add t 1 (fun _ -> 0));
  check_equal "fold" [ (1, 10) ] (content t);
  Latch.count_down gate;
  Task.await first;
  Task.await second;
  check_equal "each saw the one before" (Some 12) (Table.find_opt t 1)

(* They were quadratic: each end of a function woke all. *)
let waits_of_many () =
  let n = 300 in
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 and t = Table.create () in
  let count n =
    Latch.await gate;
    Task.yield ();
    Some (1 + Option.value n ~default:0)
  in
  let tasks = all_waiting n (fun _ -> Table.update t 1 count) in
  Latch.count_down gate;
  List.iter Task.await tasks;
  check_equal "counted" (Some n) (Table.find_opt t 1);
  let { Muster.Pool.task_waits; _ } = Muster.Pool.(stats (current ())) in
  let at_table { Muster.Pool.call; times; _ } = if call = "Table.update" then times else 0 in
  let waits = List.fold_left (fun sum wait -> sum + at_table wait) 0 task_waits in
  check_bool (Printf.sprintf "%d waits of %d tasks" waits n) true (waits >= n - 1 && waits < 3 * n)

(* The table has grown, perhaps many times, when the function ends. *)
let uses_the_table_meanwhile () =
  let t = Table.create () in
  let fill key =
    for i = 1 to 5_000 do
      ignore (Table.find_or_add t i Fun.id)
    done;
    key
  in
  check_int "value" 0 (Table.find_or_add t 0 fill);
  check_int "length" 5_001 (Table.length t);
  let count _ n = Table.replace t (-n) n in
  Table.iter count t;
  check_bool "iter may add" true (Table.length t > 5_001)

(* {2 Exceptions} *)

let fail _ = raise (Boom 7)
let fail_line = __LINE__ - 1

let exception_leaves_the_key () =
  Printexc.record_backtrace true;
  let t = Table.create () in
  check_raises_with_origin ~file:"test_table.ml" ~line:fail_line "find_or_add" (fun () ->
      Table.find_or_add t 1 fail);
  check_equal "absent" None (Table.find_opt t 1);
  check_int "length" 0 (Table.length t);
  check_int "again" 2 (Table.find_or_add t 1 succ);
  check_raises "update" (Boom 7) (fun () -> Table.update t 1 fail);
  check_equal "as before" (Some 2) (Table.find_opt t 1)

let waiters_call_their_own () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 and t = Table.create () in
  let attempt i _ =
    Latch.await gate;
    if i < 2 then raise (Boom i) else i
  in
  let tasks = List.init 5 (fun i -> waiting_task (fun () -> Table.find_or_add t 1 (attempt i))) in
  Latch.count_down gate;
  let result task = match Task.await task with v -> v | exception Boom i -> -1 - i in
  let results = List.map result tasks in
  let value = Option.get (Table.find_opt t 1) in
  check_bool "a later one's" true (value >= 2);
  check_bool "own exceptions" true
    (List.for_all2 (fun i r -> r = value || r = -1 - i) [ 0; 1; 2; 3; 4 ] results);
  check_int "the first failed" (-1) (List.hd results)

let key_that_raises () =
  let hash key = if key = 13 then raise Exit else key
  and equal a b = if a = 26 || b = 26 then raise Exit else Int.equal a b in
  let t = Table.create ~hash:(fun key -> hash key mod 2) ~equal () in
  for i = 0 to 12 do
    Table.replace t i i
  done;
  let both f =
    check_raises "hash" Exit (fun () -> f 13);
    check_raises "equal" Exit (fun () -> f 26)
  in
  both (fun key -> ignore (Table.find_opt t key));
  both (fun key -> ignore (Table.find_or_add t key Fun.id));
  both (fun key -> Table.update t key Fun.id);
  both (fun key -> Table.remove t key);
  check_int "length" 13 (Table.length t)

let asks_for_itself () =
  let t = Table.create () in
  let invalid fn f = check_invalid ~mentions:[ "Muster.Table." ^ fn; "same key" ] fn f in
  let rec cycle n = Table.find_or_add t (n mod 3) (fun n -> cycle (n + 1)) in
  invalid "find_or_add" (fun () -> cycle 0);
  check_int "nothing stays" 0 (Table.length t);
  invalid "update" (fun () ->
      Table.update t 1 (fun v ->
          Table.update t 1 Fun.id;
          v));
  let within f key =
    f key;
    key
  in
  invalid "replace" (fun () -> Table.find_or_add t 1 (within (fun key -> Table.replace t key 1)));
  invalid "remove" (fun () -> Table.find_or_add t 1 (within (Table.remove t)));
  let look key = check_equal "a look is free" None (Table.find_opt t key) in
  check_int "value" 1 (Table.find_or_add t 1 (within look))

let asks_for_itself_after_a_wait () =
  let t = Table.create () in
  let rec again key =
    suspend_in_task ();
    Table.find_or_add t key again
  in
  check_invalid ~mentions:[ "same key" ] "itself" (fun () ->
      Task.await (Task.async (fun () -> Table.find_or_add t 1 again)));
  check_int "nothing stays" 0 (Table.length t)

(* {2 Cancellation} *)

let slow gate runs _ =
  incr runs;
  Latch.await gate;
  !runs

let handed_over () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 and runs = ref 0 and t = Table.create () in
  let look () = Table.find_or_add t 1 (slow gate runs) in
  let first = waiting_task look in
  let second = waiting_task look in
  let third = waiting_task look in
  check_int "one computes" 1 !runs;
  check_cancelled "first" first;
  letting_others_run ignore;
  Latch.count_down gate;
  check_int "second" 2 (Task.await second);
  check_int "third" 2 (Task.await third);
  check_int "runs" 2 !runs

let left_as_before () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 and runs = ref 0 and t = Table.create () in
  check_cancelled "find_or_add" (waiting_task (fun () -> Table.find_or_add t 1 (slow gate runs)));
  check_int "absent" 0 (Table.length t);
  Table.replace t 1 9;
  check_cancelled "update"
    (waiting_task (fun () -> Table.update t 1 (fun v -> Some (slow gate runs v))));
  check_equal "as before" (Some 9) (Table.find_opt t 1);
  Table.remove t 1;
  Latch.count_down gate;
  check_int "the next" 3 (Table.find_or_add t 1 (slow gate runs))

let waiter_is_cancelled () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 and runs = ref 0 and t = Table.create () in
  let look () = Table.find_or_add t 1 (slow gate runs) in
  let first = waiting_task look in
  let second = waiting_task look in
  let third = waiting_task (fun () -> Table.remove t 1) in
  check_cancelled "second" second;
  check_cancelled "third" third;
  Latch.count_down gate;
  check_int "first" 1 (Task.await first);
  check_equal "it stays" (Some 1) (Table.find_opt t 1)

let cancelled_at_random () =
  for _ = 1 to 20 do
    let t = Table.create () in
    let compute key =
      suspend_in_task ();
      suspend_in_task ();
      key + 1
    in
    let look i = check_int "value" (1 + (i mod 3)) (Table.find_or_add t (i mod 3) compute) in
    ignore (random_cancels ~tasks:30 look);
    ignore (random_cancels ~tasks:30 (fun i -> Table.update t (i mod 3) (Option.map compute)));
    List.iter (fun key -> ignore (Table.find_or_add t key compute)) [ 0; 1; 2 ];
    check_int "at last" 3 (Table.length t)
  done

(* {2 Memo} *)

let runs = Atomic.make 0

let paths () =
  Atomic.set runs 0;
  let paths =
    Table.memo (fun paths (x, y) ->
        Atomic.incr runs;
        if x = 0 || y = 0 then 1
        else
          let left, down =
            Muster.both (fun () -> paths (x - 1, y)) (fun () -> paths (x, y - 1))
          in
          left + down)
  in
  check_int "value" 601_080_390 (paths (16, 16));
  check_int "once for each key" ((17 * 17) - 1) (Atomic.get runs);
  check_int "again" 601_080_390 (paths (16, 16));
  check_int "once" ((17 * 17) - 1) (Atomic.get runs)

let memo_of_tasks () =
  let fib =
    Table.memo ~hash:Fun.id ~equal:Int.equal (fun fib n ->
        if n < 2 then n
        else
          let all = Task.all [ (fun () -> fib (n - 1)); (fun () -> fib (n - 2)) ] in
          List.fold_left ( + ) 0 all)
  in
  check_int "fib" 832_040 (fib 30)

let deep () =
  let depth = Table.memo (fun depth n -> if n = 0 then 0 else 1 + depth (n - 1)) in
  check_int "depth" 100_000 (depth 100_000)

let cycle () =
  let turn = Table.memo (fun turn n -> turn ((n + 1) mod 4)) in
  check_invalid ~mentions:[ "Table.memo"; "same key" ] "cycle" (fun () -> turn 0)

let () =
  Alcotest.run "table"
    [
      ( "alone",
        [
          case "as a Hashtbl, few keys" (as_sequential ~keys:5 ~steps:2_000);
          case "as a Hashtbl, many keys" (as_sequential ~keys:3_000 ~steps:30_000);
          case "as a Hashtbl, one hash" (as_sequential ~hash:(fun _ -> 1) ~keys:60 ~steps:3_000);
          case "as a Hashtbl, plain hash" (as_sequential ~hash:Fun.id ~keys:3_000 ~steps:30_000);
          case "as a Hashtbl, hashes of upper bits"
            (as_sequential ~hash:(fun i -> i lsl 50) ~keys:1_000 ~steps:10_000);
          case "keys of any type" keys_of_any_type;
          case "an equality of the user's" own_equality;
          case "the function uses the table" uses_the_table_meanwhile;
        ] );
      ( "once",
        on_callers "a key is computed once" (computed_once ~between:ignore)
        @ on_callers "a function that waits runs once" (computed_once ~between:suspend)
        @ on_callers "each update counts" (every_update_counts ~between:ignore)
        @ on_callers "each update that waits counts" (every_update_counts ~between:suspend)
        @ on_callers "a table grows" grows_beside_all
        @ [
            case "waiters are suspended" waiters_are_suspended;
            case "each waits a few times" waits_of_many;
            case "lookups see the old value meanwhile" old_value_meanwhile;
          ] );
      ( "exceptions",
        [
          case "a key stays as before" exception_leaves_the_key;
          case "waiters call their own functions" waiters_call_their_own;
          case "hash and equal raise" key_that_raises;
          case "a function asks for its own key" (on_pools asks_for_itself);
          case "a function asks for its own key, outside a pool" asks_for_itself;
          case "a function asks for its own key after a wait"
            (on_pools asks_for_itself_after_a_wait);
        ] );
      ( "cancellation",
        [
          case "a waiter goes on with a cancelled key" handed_over;
          case "a key stays as before a cancellation" left_as_before;
          case "a waiter is cancelled" waiter_is_cancelled;
          case "functions are cancelled at random moments" (on_pools cancelled_at_random);
        ] );
      ( "memo",
        [
          case "forks share values" (on_pools paths);
          case "tasks share values" (on_pools memo_of_tasks);
          case "a long chain" deep;
          case "a cycle" cycle;
        ] );
    ]
