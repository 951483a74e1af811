(* Fork-join, tasks, waiting and exceptions, on pools of several domains. Each task writes what
   its waiter reads, plainly: a missing order shows there. *)

module Core = Muster_core
module Pool = Muster.Pool
module Task = Muster.Task
open Rounds

(* {2 both} *)

let rec tree cells lo hi =
  if lo = hi then cells.(lo) <- cells.(lo) + 1
  else begin
    let mid = (lo + hi) / 2 in
    ignore (Muster.both (fun () -> tree cells lo mid) (fun () -> tree cells (mid + 1) hi));
    (* The writes of both sides are seen here, on any worker. *)
    cells.(mid) <- cells.(mid) + 1;
    cells.(hi) <- cells.(hi) + 1
  end

let both_tree domains =
  let cells = Array.make 64 0 in
  in_task domains 400 (fun _ -> tree cells 0 63)

let both_pair =
  let left = ref 0 and right = ref 0 and before = ref 0 in
  in_task 2 20_000 (fun round ->
      before := round;
      let side own () =
        pauses (round land 63);
        own := !own + !before
      in
      ignore (Muster.both (side left) (side right));
      check "both sides" (!left = !right))

exception Wrong of int ref

let both_raises =
  in_task 3 3_000 (fun round ->
      let fail () =
        pauses (round land 63);
        raise (Wrong (ref round))
      in
      match Muster.both ignore fail with
      | _ -> check "raises" false
      | exception Wrong content -> check "the content" (!content = round))

let both_from_several domains =
  with_pool 2 @@ fun pool ->
  let cells = Array.init domains (fun _ -> Array.make 16 0) in
  let caller i _ = Pool.run pool (fun () -> tree cells.(i) 0 15) in
  race 500 (List.init domains caller)

(* {2 async and await} *)

let async_passes_on =
  let data = ref 0 in
  in_task 2 10_000 (fun round ->
      data := round;
      let task =
        Task.async (fun () ->
            incr data;
            ref !data)
      in
      pauses (round land 127);
      check "its result" (!(Task.await task) = round + 1);
      check "its effect" (!data = round + 1))

(* One task, awaited by several domains, that of its maker among them. *)
let awaited_by_several pool =
  let shown = Atomic.make None in
  let make round =
    let task =
      Pool.run pool (fun () ->
          Task.async (fun () ->
              pauses 20;
              ref round))
    in
    Atomic.set shown (Some task);
    check "result" (!(Task.await task) = round)
  in
  let look round =
    relax_until (fun () -> Atomic.get shown <> None);
    check "result" (!(Task.await (Option.get (Atomic.get shown))) = round)
  in
  race 1_500 ~before:(fun _ -> Atomic.set shown None) [ make; look; look ]

(* From outside the pool and from inside, at the same time. *)
let async_from_everywhere pool =
  let cells = Array.make 4 0 in
  let outside i round =
    cells.(i) <- round;
    let task =
      Pool.run pool (fun () ->
          Task.async (fun () ->
              cells.(i) <- cells.(i) + 1;
              cells.(i)))
    in
    check "result" (Task.await task = round + 1)
  in
  let inside i round = Pool.run pool (fun () -> outside i round) in
  race 1_000 [ outside 0; inside 1; outside 2; inside 3 ]

(* Tasks that wait for each other suspend, and go on elsewhere. *)
let chains =
  let links = 12 in
  in_task 3 500 (fun round ->
      let cells = Array.make links round in
      let link before i =
        Task.async (fun () ->
            pauses (i land 3);
            Option.iter Task.await before;
            if i > 0 then cells.(i) <- cells.(i - 1) + 1)
      in
      let rec chain before i =
        if i < links then chain (Some (link before i)) (i + 1) else Option.get before
      in
      Task.await (chain None 0);
      check "in order" (cells.(links - 1) = round + links - 1))

let all_and_first =
  in_task 3 1_000 (fun round ->
      let cells = Array.make 4 0 in
      let task i () =
        cells.(i) <- round;
        ref (round + i)
      in
      let results = Task.all (List.init 4 task) in
      check "all" (List.mapi (fun i r -> !r - i) results = List.init 4 (fun _ -> round));
      let first = Task.first (List.init 4 task) in
      check "first" (!first >= round && !first < round + 4);
      check "cells" (Array.exists (fun c -> c = round) cells))

let failures_of_all =
  in_task 3 800 (fun round ->
      let task i () = if i > 0 then raise (Wrong (ref (round + i))) in
      match Task.all (List.init 3 task) with
      | _ -> check "raises" false
      | exception Wrong content -> check "the leftmost" (!content = round + 1))

(* {2 At most so many at once} *)

let bounded =
  let inputs = Array.make 9 0 and outputs = Array.make 9 0 in
  in_task 3 600 (fun round ->
      let force i =
        inputs.(i) <- round;
        i
      in
      let call i =
        pauses (i land 3);
        outputs.(i) <- inputs.(i);
        ref (round + i)
      in
      let elements () = Seq.map force (Seq.init 9 Fun.id) in
      Task.iter_seq ~max:4 (fun i -> ignore (call i)) (elements ());
      check "called" (Array.for_all (fun c -> c = round) outputs);
      let results = Task.map ~max:4 call (List.init 9 Fun.id) in
      check "map" (List.mapi (fun i r -> !r - i) results = List.init 9 (fun _ -> round));
      let take (sum, i) r =
        check "ahead of it" (outputs.(i) = round);
        (sum + !r, i + 1)
      in
      let sum, _ =
        Task.with_map ~window:3 call (elements ()) (fun s -> Seq.fold_left take (0, 0) s)
      in
      check "with_map" (sum = (9 * round) + 36))

(* Several fail, and the consumer may have gone before. *)
let failures_of_bounded =
  in_task 3 600 (fun round ->
      let call i =
        pauses (i land 7);
        if i >= 3 then raise (Wrong (ref (round + i)));
        ref i
      in
      let fails how =
        match how () with
        | _ -> check "raises" false
        | exception Wrong content -> check "the leftmost" (!content = round + 3)
      in
      fails (fun () -> ignore (Task.map ~max:5 call (List.init 9 Fun.id)));
      fails (fun () -> Task.with_map ~window:5 call (Seq.ints 0) (Seq.iter ignore));
      let sum s = Seq.fold_left (fun sum r -> sum + !r) 0 (Seq.take 3 s) in
      check "the first three" (Task.with_map ~window:5 call (Seq.ints 0) sum = 3))

(* Failed tasks that nobody awaits. *)
let uncaught pool =
  let seen = Atomic.make 0 in
  Task.set_uncaught_handler (fun exn _ ->
      match exn with Wrong content when !content >= 0 -> Atomic.incr seen | _ -> ());
  let forget i round =
    Pool.run pool (fun () -> ignore (Task.async (fun () -> raise (Wrong (ref (round + i))))))
  in
  race 300 [ forget 0; forget 1 ]

(* {2 Waiter}: the door through which locks and channels wait *)

let handed_over pool =
  let shown = Atomic.make None and data = ref 0 in
  let wait round =
    Pool.run pool (fun () ->
        Core.Waiter.wait (Core.Event.make "a test") (fun w -> Atomic.set shown (Some w));
        check "granted after" (!data = round))
  in
  let grant round =
    relax_until (fun () -> Atomic.get shown <> None);
    data := round;
    ignore (Core.Waiter.grant (Option.get (Atomic.get shown)))
  in
  race 1_500 ~before:(fun _ -> Atomic.set shown None) [ wait; grant ]

let between_tasks =
  in_task 2 2_000 (fun round ->
      let shown = Atomic.make None and data = ref 0 in
      let waiting =
        Task.async (fun () ->
            Core.Waiter.wait (Core.Event.make "a test") (fun w -> Atomic.set shown (Some w));
            !data)
      in
      relax_until ~turns:200 (fun () -> Atomic.get shown <> None);
      data := round;
      (match Atomic.get shown with
      | Some w -> ignore (Core.Waiter.grant w)
      | None ->
        let grant () = ignore (Core.Waiter.grant (Option.get (Atomic.get shown))) in
        ignore
          (Task.async (fun () ->
               relax_until (fun () -> Atomic.get shown <> None);
               grant ())));
      check "granted after" (Task.await waiting = round))

(* An exception ends a wait, while others sweep what waits for the same task. *)
let given_up () =
  let promise = ref (Core.Promise.make Core.Promise.nowhere ignore) in
  let before _ = promise := Core.Promise.make Core.Promise.nowhere ignore in
  let strike ~ready:_ ~register =
    register ignore;
    pauses 20;
    raise Exit
  in
  let wait _ =
    for _ = 1 to 4 do
      try Core.Caller.waiting_for !promise strike with Exit -> ()
    done
  in
  let sweep _ =
    for _ = 1 to 16 do
      Core.Promise.on_done !promise ignore
    done
  in
  race 2_000 ~before [ wait; sweep ]

(* {2 Promises, values that tasks inherit, sleep} *)

let resolved pool =
  let data = ref 0 and shown = Atomic.make None in
  let before _ = Atomic.set shown None in
  let resolve round =
    relax_until (fun () -> Atomic.get shown <> None);
    let resolvers = Option.get (Atomic.get shown) in
    data := round;
    List.iter (fun r -> Muster.Promise.resolve r (ref round)) resolvers
  in
  let await round =
    let p, r = Muster.Promise.create () and q, s = Muster.Promise.create () in
    Atomic.set shown (Some [ r; s ]);
    Pool.run pool (fun () ->
        check "any" (!(Task.any [ p; q ]) = round && !data = round);
        check "await" (!(Task.await q) = round);
        relax_until (fun () -> Task.peek p <> None))
  in
  race 1_000 ~before [ await; resolve ]

let inherited =
  let local = Task.local (ref 0) in
  in_task 3 2_000 (fun round ->
      let mine = ref round in
      Task.with_local local mine (fun () ->
          let task = Task.async (fun () -> !(Task.get_local local)) in
          let left, right =
            Muster.both (fun () -> !(Task.get_local local)) (fun () -> !(Task.get_local local))
          in
          check "inherited" (left = round && right = round && Task.await task = round)))

let sleeps =
  let cells = Array.make 8 0 in
  in_task 3 50 (fun round ->
      let body i () =
        Task.sleep 0.0005;
        cells.(i) <- round
      in
      ignore (Task.all (List.init 8 body));
      check "woken" (Array.for_all (fun cell -> cell = round) cells))

let () =
  main
    [
      case "promise: resolved" (with_pool 2 resolved);
      case "local: inherited" inherited;
      case "sleep: several" sleeps;
      case "both: trees, 2 domains" (both_tree 2);
      case "both: trees, 4 domains" (both_tree 4);
      case "both: a pair that shares" both_pair;
      case "both: the right side raises" both_raises;
      case "both: three callers, one pool" (both_from_several 3);
      case "async: its maker awaits" async_passes_on;
      case "async: three domains await" (with_pool 2 awaited_by_several);
      case "async: from outside and inside" (with_pool 2 async_from_everywhere);
      case "async: a chain that suspends" chains;
      case "async: all and first" all_and_first;
      case "async: all, with failures" failures_of_all;
      case "async: failures nobody awaits" (with_pool 2 uncaught);
      case "bounded: map, iter_seq, with_map" bounded;
      case "bounded: with failures" failures_of_bounded;
      case "waiter: a task waits, a domain grants" (with_pool 2 handed_over);
      case "waiter: between tasks" between_tasks;
      case "wait: given up" given_up;
    ]
