(* Calls that block, on systhreads of a domain of their own: jobs, results and exceptions go there
   and back while tasks are cancelled and the domain comes and goes. *)

module Crew = Muster_blocking.Crew
module Pool = Muster.Pool
module Task = Muster.Task
open Rounds

let beside_tasks =
  in_task 2 200 (fun round ->
      let data = ref round in
      let call () =
        Thread.yield ();
        incr data;
        ref !data
      in
      let tasks = List.init 2 (fun _ -> Task.async (fun () -> Task.blocking ignore)) in
      check "its result" (!(Task.blocking call) = round + 1 && !data = round + 1);
      List.iter Task.await tasks)

let from_several pool =
  let cells = Array.make 3 0 in
  let caller i round =
    let call () =
      cells.(i) <- cells.(i) + 1;
      cells.(i)
    in
    check "its result" (Pool.run pool (fun () -> Task.blocking call) = round + 1)
  in
  race 150 (List.init 3 caller)

exception Failed of int ref

let raises =
  in_task 2 200 (fun round ->
      let call () = raise (Failed (ref round)) in
      match Task.blocking call with
      | () -> check "raises" false
      | exception Failed content -> check "its content" (!content = round))

(* The call goes on when nobody waits for it any more; or it never begins. *)
let cancelled =
  in_task 2 200 (fun round ->
      let data = ref 0 and began = Atomic.make false and ended = Atomic.make false in
      let call () =
        incr data;
        Thread.yield ();
        incr data;
        Atomic.set ended true
      in
      let task =
        Task.async (fun () ->
            Atomic.set began true;
            Task.blocking call)
      in
      relax_until (fun () -> Atomic.get began);
      loiter round;
      Task.cancel task;
      (match Task.await task with
      | () -> check "returned, so called" (Atomic.get ended)
      | exception Task.Cancelled -> relax_until ~turns:300 (fun () -> Atomic.get ended));
      if Atomic.get ended then check "to its end" (!data = 2))

(* Many at the same time, which wait for each other. *)
let many =
  in_task 2 50 (fun _ ->
      let arrived = Atomic.make 0 and cells = Array.make 6 0 in
      let call i () =
        cells.(i) <- cells.(i) + 1;
        Atomic.incr arrived;
        while Atomic.get arrived < 6 do
          Thread.yield ()
        done;
        Array.fold_left ( + ) 0 cells
      in
      let sums = Task.all (List.init 6 (fun i () -> Task.blocking (call i))) in
      check "all came" (List.for_all (fun sum -> sum = 6) sums))

(* {2 The crew alone}: jobs from domains that are no workers. *)

let jobs () =
  let done_ = Array.init 3 (fun _ -> Atomic.make (-1)) and cells = Array.make 3 0 in
  let caller i round =
    cells.(i) <- round;
    Crew.run (fun () ->
        check "handed over" (cells.(i) = round);
        cells.(i) <- round + 1;
        Atomic.set done_.(i) round);
    relax_until (fun () -> Atomic.get done_.(i) = round);
    check "done" (cells.(i) = round + 1)
  in
  race 200 (List.init 3 caller)

(* Threads that sleep leave after 150 ms, and then the domain; jobs come at just that time. *)
let comes_and_goes () =
  let data = ref 0 and at = Atomic.make 0 in
  let job () =
    incr data;
    Atomic.incr at
  in
  let caller _ =
    let next = Atomic.get at + 1 in
    Crew.run job;
    relax_until (fun () -> Atomic.get at = next)
  in
  repeat 8 (fun round ->
      caller round;
      Unix.sleepf (0.14 +. (0.005 *. float (round land 7))));
  check "all done" (!data = times 8)

(* Values that blocking calls inherit: each thread has its own. *)
let inherited pool =
  let local = Task.local (ref 0) in
  let caller i round =
    let mine = ref (round + i) in
    Pool.run pool (fun () ->
        Task.with_local local mine (fun () ->
            let theirs = Task.blocking (fun () -> !(Task.get_local local)) in
            check "inherited" (theirs = round + i)))
  in
  race 200 (List.init 3 caller)

let () =
  main
    [
      case "inherited: by blocking calls" (with_pool 2 inherited);
      case "blocking: beside tasks" beside_tasks;
      case "blocking: three callers" (with_pool 2 from_several);
      case "blocking: raises" raises;
      case "blocking: cancelled" cancelled;
      case "blocking: six that meet" many;
      case "crew: jobs of three domains" jobs;
      case "crew: comes and goes" comes_and_goes;
    ]
