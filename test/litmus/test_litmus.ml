(* What happens before what: a litmus test for each statement of the interface about order. The
   accesses whose order is in question are plain, so ThreadSanitizer (make tsan) sees from the
   first round on where the order is not given; a normal run sees it where the machine shows it.

   Names of the shapes: in message passing (MP) one side writes and then tells, the other is told
   and then reads; in store buffering (SB) each side tells and then looks whether the other has told:
   not both may find that it has not.

   make litmus plays a million rounds of each. *)

module Core = Muster_core
module Promise = Core.Promise
module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team
open Rounds

(* {2 Promises} *)

(* MP: who finds the result sees what the task did. *)
let promise_mp () =
  let data = ref 0 and promise = ref (Promise.make Promise.nowhere ignore) in
  let before round = promise := Promise.make Promise.nowhere (fun () -> data := round + 1) in
  let tell _ = ignore (Promise.run !promise) in
  let look round =
    let told = Promise.is_done !promise in
    if told then check "told, so written" (!data = round + 1)
  in
  race 10_000 ~before [ tell; look ]

(* SB: of two who each resolve one and look at the other's, one sees the other done. *)
let promise_sb () =
  let make () = Promise.make Promise.nowhere ignore in
  let promises = [| make (); make () |] and seen = [| false; false |] in
  let before _ =
    for i = 0 to 1 do
      promises.(i) <- make ()
    done
  in
  let side i _ =
    ignore (Promise.run promises.(i));
    seen.(i) <- Promise.is_done promises.(1 - i)
  in
  let after _ = check "one sees the other" (seen.(0) || seen.(1)) in
  race 10_000 ~before ~after [ side 0; side 1 ]

(* IRIW: two readers agree on which of two came first. *)
let promise_iriw () =
  let make () = Promise.make Promise.nowhere ignore in
  let p = ref (make ()) and q = ref (make ()) in
  let saw = Array.make 4 false in
  let before _ =
    p := make ();
    q := make ()
  in
  let tell promise _ = ignore (Promise.run !promise) in
  let look at first second _ =
    saw.(at) <- Promise.is_done !first;
    saw.(at + 1) <- Promise.is_done !second
  in
  let after _ =
    let p_alone = saw.(0) && not saw.(1) and q_alone = saw.(2) && not saw.(3) in
    check "one order for both" (not (p_alone && q_alone))
  in
  race 5_000 ~before ~after [ tell p; tell q; look 0 p q; look 2 q p ]

(* Only the claimant runs the function: what both would do is done once. *)
let promise_claim () =
  let runs = ref 0 and promise = ref (Promise.make Promise.nowhere ignore) in
  let before _ = promise := Promise.make Promise.nowhere (fun () -> incr runs) in
  let claim _ = ignore (Promise.run !promise) in
  let after round = check "once a round" (!runs = round + 1) in
  race 10_000 ~before ~after [ claim; claim ]

(* {2 Where work is published and sleepers announce themselves} *)

(* SB: publish, then look for sleepers; announce, then look for work. *)
let publish_and_announce ~push ~is_empty ~pop =
  let parking = Core.Parking.create 1 in
  let saw_sleeper = ref false and saw_work = ref false in
  let publish round =
    push round;
    saw_sleeper := Core.Parking.sleepers parking > 0
  in
  let announce _ =
    Core.Parking.announce parking 0;
    saw_work := not (is_empty ())
  in
  let after _ =
    check "one sees the other" (!saw_sleeper || !saw_work);
    Core.Parking.cancel parking 0;
    ignore (pop ())
  in
  race 10_000 ~after [ publish; announce ]

let parking_sb () =
  let open Core.Inbox in
  let inbox = create (-1) in
  publish_and_announce ~push:(push inbox)
    ~is_empty:(fun () -> is_empty inbox)
    ~pop:(fun () -> pop inbox)

let parking_sb_deque () =
  let open Core.Deque in
  let deque = create ~capacity:4 ~is_live:(fun _ -> true) (-1) in
  publish_and_announce ~push:(push deque)
    ~is_empty:(fun () -> is_empty deque)
    ~pop:(fun () -> pop deque)

let through_inbox () =
  let inbox = Core.Inbox.create () and data = ref 0 in
  let send round =
    data := round;
    Core.Inbox.push inbox ()
  in
  let receive round =
    relax_until (fun () -> not (Core.Inbox.is_empty inbox));
    ignore (Core.Inbox.pop inbox);
    check "sent, so written" (!data = round)
  in
  race 10_000 [ send; receive ]

let through_deque () =
  let nothing = ref (-1) in
  let deque = Core.Deque.create ~capacity:4 ~is_live:(fun _ -> true) nothing and got = ref nothing in
  let push round =
    let entry = ref 0 in
    entry := round;
    Core.Deque.push deque entry
  in
  let take round =
    relax_until (fun () ->
        got := Core.Deque.steal deque;
        !got != nothing);
    check "stolen, so written" (!(!got) = round)
  in
  race 10_000 [ push; take ]

let through_waiter () =
  let shown = Atomic.make None and data = ref 0 in
  let wait round =
    Core.Waiter.wait (Core.Event.make "a test") (fun w -> Atomic.set shown (Some w));
    check "granted, so written" (!data = round)
  in
  let grant round =
    relax_until (fun () -> Atomic.get shown <> None);
    data := round;
    ignore (Core.Waiter.grant (Option.get (Atomic.get shown)))
  in
  race 10_000 ~before:(fun _ -> Atomic.set shown None) [ wait; grant ]

(* {2 both} *)

let fork_join =
  let given = ref 0 and left = ref 0 and right = ref 0 in
  in_task 2 60_000 (fun round ->
      given := round;
      let side own () =
        loiter round;
        own := !given
      in
      ignore (Muster.both (side left) (side right));
      check "forked, so given; joined, so done" (!left = round && !right = round))

exception Failed

let fork_raises =
  let left = ref 0 and right = ref 0 in
  in_task 2 30_000 (fun round ->
      let side own () =
        loiter round;
        own := round;
        raise Failed
      in
      match Muster.both (fun () -> left := round) (side right) with
      | _ -> check "raises" false
      | exception Failed -> check "raised, so done" (!left = round && !right = round))

(* {2 Tasks} *)

let async_await =
  let given = ref 0 and result = ref 0 in
  in_task 2 60_000 (fun round ->
      given := round;
      let task = Task.async (fun () -> result := !given) in
      loiter round;
      Task.await task;
      check "sent, so given; awaited, so done" (!result = round))

let await_raises =
  let given = ref 0 and result = ref 0 in
  in_task 2 30_000 (fun round ->
      given := round;
      let task =
        Task.async (fun () ->
            result := !given;
            raise Failed)
      in
      loiter round;
      match Task.await task with
      | () -> check "raises" false
      | exception Failed -> check "raised, so done" (!result = round))

(* MP across three: what the task's maker did is seen by another one that awaits it. *)
let await_elsewhere pool =
  let shown = Atomic.make None and data = ref 0 in
  let make round =
    let task = Pool.run pool (fun () -> Task.async (fun () -> data := round)) in
    Atomic.set shown (Some task)
  in
  let await round =
    relax_until (fun () -> Atomic.get shown <> None);
    Task.await (Option.get (Atomic.get shown));
    check "awaited, so done" (!data = round)
  in
  race 10_000 ~before:(fun _ -> Atomic.set shown None) [ make; await ]

let all_of_several =
  let cells = Array.make 3 0 in
  in_task 3 10_000 (fun round ->
      ignore
        (Task.all
           (List.init 3 (fun i () ->
                loiter round;
                cells.(i) <- round)));
      check "returned, so all done" (Array.for_all (fun cell -> cell = round) cells))

(* Each that has begun has ended, where one of them raises. *)
let all_raise =
  let begun = Array.make 3 (-1) and cells = Array.make 3 0 in
  in_task 3 10_000 (fun round ->
      let task i () =
        begun.(i) <- round;
        loiter (round + i);
        cells.(i) <- round;
        if i = 1 then raise Failed
      in
      match Task.all (List.init 3 task) with
      | _ -> check "raises" false
      | exception Failed ->
        check "raised, so done" (cells.(1) = round);
        for i = 0 to 2 do
          check "begun, so ended" (begun.(i) <> round || cells.(i) = round)
        done)

let first_of_several =
  let cells = Array.make 3 0 in
  in_task 3 10_000 (fun round ->
      let task i () =
        loiter round;
        cells.(i) <- round;
        i
      in
      let winner = Task.first (List.init 3 task) in
      (* Those that lost have ended, too, or never begun: no race with these reads. *)
      check "returned, so done" (Array.fold_left max 0 cells = round && cells.(winner) = round))

let run_in_a_pool pool =
  let cells = [| 0; 0 |] in
  let caller i round =
    cells.(i) <- round;
    let seen =
      Pool.run pool (fun () ->
          cells.(i) <- cells.(i) + 1;
          cells.(i))
    in
    check "run, so given; returned, so done" (seen = round + 1 && cells.(i) = round + 1)
  in
  race 3_000 [ caller 0; caller 1 ]

let run_raises pool =
  let cells = [| 0; 0 |] in
  let caller i round =
    cells.(i) <- round;
    match
      Pool.run pool (fun () ->
          cells.(i) <- cells.(i) + 1;
          raise Failed)
    with
    | () -> check "raises" false
    | exception Failed -> check "raised, so done" (cells.(i) = round + 1)
  in
  race 3_000 [ caller 0; caller 1 ]

let closed () =
  repeat 50 (fun round ->
      let cell = ref 0 in
      let pool = Pool.create ~domains:2 ~oversubscribe:true () in
      Pool.run pool (fun () -> ignore (Task.async (fun () -> cell := round)));
      Pool.close pool;
      check "closed, so done" (!cell = round))

(* {2 Loops and regions} *)

let loop =
  let given = ref 0 and cells = Array.make 16 0 in
  in_task 2 5_000 (fun round ->
      given := round;
      let body i =
        pauses 16;
        cells.(i) <- !given
      in
      Muster.parallel_for ~grain:1 ~start:0 ~finish:15 body;
      check "begun, so given; returned, so done" (Array.for_all (fun c -> c = round) cells))

(* What combine sees of either side was done before. *)
let reduction =
  let cells = Array.make 16 0 in
  in_task 2 5_000 (fun round ->
      let f i =
        pauses 16;
        cells.(i) <- round;
        (i, i)
      in
      let combine (a, b) (c, d) =
        check "combined, so done" (cells.(b) = round && cells.(c) = round);
        (a, d)
      in
      let init = (0, 0) in
      ignore (Muster.parallel_reduce ~grain:1 ~start:0 ~finish:15 ~combine ~init f))

let region pool =
  let given = ref 0 and cells = Array.make (Pool.size pool) 0 in
  repeat 30_000 (fun round ->
      given := round;
      Team.broadcast pool (fun worker -> cells.(worker) <- !given);
      check "begun, so given; returned, so done" (Array.for_all (fun c -> c = round) cells))

let region_raises pool =
  let given = ref 0 and cells = Array.make (Pool.size pool) 0 in
  repeat 30_000 (fun round ->
      given := round;
      let body worker =
        cells.(worker) <- !given;
        if worker = 1 then raise Failed
      in
      match Team.broadcast pool body with
      | () -> check "raises" false
      | exception Failed -> check "raised, so done" (Array.for_all (fun c -> c = round) cells))

(* MP from worker to worker, through the caller between two regions. *)
let region_after_region pool =
  let size = Pool.size pool in
  let cells = Array.make size 0 and seen = Array.make size 0 in
  repeat 30_000 (fun round ->
      Team.for_n pool size (fun ~worker:_ i -> cells.(i) <- round);
      Team.for_n pool size (fun ~worker:_ i -> seen.(i) <- cells.(size - 1 - i));
      check "the one before the other" (Array.for_all (fun c -> c = round) seen))

(* Two calls with one index never run at the same time: a worker's own cell needs no atomic. *)
let one_worker_at_a_time pool =
  let own = Array.make (Pool.size pool) 0 in
  repeat 1_000 (fun round ->
      Team.for_n_dynamic pool 32 (fun ~worker _ ->
          pauses 8;
          own.(worker) <- own.(worker) + 1);
      check "none lost" (Array.fold_left ( + ) 0 own = 32 * (round + 1)))

let () =
  main
    [
      case "promise: MP, done and seen" promise_mp;
      case "promise: SB, each resolves one" promise_sb;
      case "promise: IRIW, two readers" promise_iriw;
      case "promise: one of two claims" promise_claim;
      case "parking: SB, publish and announce" parking_sb;
      case "parking: SB, publish in a deque" parking_sb_deque;
      case "inbox: MP" through_inbox;
      case "deque: MP" through_deque;
      case "waiter: MP, grant and return" through_waiter;
      case "both: fork and join" fork_join;
      case "both: join by exception" fork_raises;
      case "task: async and await" async_await;
      case "task: await, raises" await_raises;
      case "task: another domain awaits" (with_pool 2 await_elsewhere);
      case "task: all" all_of_several;
      case "task: all, raises" all_raise;
      case "task: first" first_of_several;
      case "pool: run, from two domains" (with_pool 2 run_in_a_pool);
      case "pool: run, raises" (with_pool 2 run_raises);
      (* A round starts domains and ends them. *)
      case "pool: close" ~limit:100_000 closed;
      case "loop: for" loop;
      case "loop: reduce" reduction;
      case "region: broadcast" (with_pool 2 region);
      case "region: raises" (with_pool 2 region_raises);
      case "region: one after another" (with_pool 3 region_after_region);
      case "region: one worker's calls" (with_pool 3 one_worker_at_a_time);
    ]
