(* Model checks in processes of their own, as many at a time as there are CPUs: the short form as
   tests ([test_model]); all of them ([--full]), or those whose suite's name or own begins so
   ([--full NAME], [--short NAME]). *)

(* These take 2 to 50 s each, so only [make model] checks them. *)
let in_depth =
  [
    "waiter that suspends, 1 grants, a scope around it is stopped";
    "waiter that suspends, 0 grants, it is stopped and called up";
    "waiter that helps, 1 grants, a scope around it is stopped";
    "scope of 1 tasks beside one that steals, -1 fails";
    "scope of 1 tasks beside one that steals, 0 fails";
    "task in 1 scopes with 0 stale entries: hook, stop scope 0, hook";
    "task in 2 linked scopes with 0 stale entries: hook, stop scope 0, end scope 1";
    "task in 2 scopes with 0 stale entries: hook, stop scope 0, ";
    "task in 2 scopes with 0 stale entries: notice, stop scope 0, stop scope 1";
    "semaphore: two and one that tries";
    "channels of 1, first send -1 to 0: send 1 to 0 | receive from 0 | cancel 0 | receive from 0";
    "channels of 0, first : select (send 1 to 0) in time | select (receive from 0) in time";
    "barrier: two, 0 is cancelled, and leaves late";
    "region: a loop, whose shares fail from 0 on, beside one that loops";
    "region: a loop, interrupted, beside one that loops";
    "region: a loop, a resident goes away and comes back";
    "region: a broadcast, a resident goes away and comes back";
    "forks of depth 2, deque of 2, thieves 1,1";
    "deque of 1, after uu: owner ur, thieves 2";
    "deque of 1, after uusu: owner ur, thieves 2";
    "deque of 1, after uuuu: owner ur, thieves 2";
    "deque of 1, after uuuu: owner rr, thieves 2";
    "deque of 1, after uuu: owner r, thieves 1,1";
    "deque of 1, after uuuu: owner r, thieves 1,1";
    "mutex: two, twice, 1 is cancelled";
    "region: a broadcast, interrupted, beside one that loops";
    "task in 1 scopes with 0 stale entries: hook, end, hook";
    "task in 1 scopes with 0 stale entries: hook, stop, hook";
  ]

let is_in_depth model =
  List.exists (fun prefix -> String.starts_with ~prefix model.Model.name) in_depth

let short =
  let soon (suite, models) = (suite, List.filter (fun model -> not (is_in_depth model)) models) in
  List.map soon (Models.Suites.quick @ Core_models.Suites.quick)

let all = Models.Suites.full @ Core_models.Suites.full

let of_name prefix suites =
  let some (suite, models) =
    let is_meant model = List.exists (String.starts_with ~prefix) [ suite; model.Model.name ] in
    match List.filter is_meant models with [] -> None | models -> Some (suite, models)
  in
  match List.filter_map some suites with
  | [] ->
    Printf.eprintf "the name of no suite and no model begins with %S\n" prefix;
    exit 1
  | meant -> meant

let () =
  match Sys.argv with
  | [| _; "--full" |] -> Report.run all
  | [| _; "--short" |] -> Report.run short
  | [| _; "--full"; prefix |] -> Report.run (of_name prefix all)
  | [| _; "--short"; prefix |] -> Report.run (of_name prefix short)
  | _ -> Report.run_as_tests short
