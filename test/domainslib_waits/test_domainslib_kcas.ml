(* What waits through domain-local-await in a task suspends the task: here transactions of Kcas. *)

open Domainslib
open Harness
module Loc = Kcas.Loc

let with_pool num_domains f () =
  let pool = Task.setup_pool ~num_domains () in
  Fun.protect (fun () -> f pool) ~finally:(fun () -> Task.teardown_pool pool)

let wait_for loc wanted = Loc.get_as (fun x -> if x <> wanted then Kcas.Retry.later ()) loc

(* A place for one number: 0 is none. *)
let put loc x = Loc.modify loc (fun old -> if old = 0 then x else Kcas.Retry.later ())
let take loc = Loc.update loc (fun x -> if x = 0 then Kcas.Retry.later () else 0)

let ping_pong pool =
  let ball = Loc.make 0 and rounds = 200 in
  let player mine theirs () =
    for _ = 1 to rounds do
      wait_for ball mine;
      Loc.set ball theirs
    done
  in
  Task.run pool (fun () ->
      let players = [ Task.async pool (player 0 1); Task.async pool (player 1 0) ] in
      List.iter (Task.await pool) players)

let many_wait_for_one pool =
  let gate = Loc.make 0 and through = Atomic.make 0 in
  Task.run pool (fun () ->
      let pass () =
        wait_for gate 1;
        Atomic.incr through
      in
      let tasks = List.init 100 (fun _ -> Task.async pool pass) in
      Task.await pool (Task.async pool (fun () -> Loc.set gate 1));
      List.iter (Task.await pool) tasks);
  check_int "through" 100 (Atomic.get through)

(* Bodies of one loop, in pairs. *)
let bodies_wait_for_each_other pool =
  let n = 40 in
  let start = 0 and finish = (2 * n) - 1 in
  let gates = Array.init n (fun _ -> Loc.make 0) in
  let body i = if i < n then wait_for gates.(i) 1 else Loc.set gates.(i - n) 1 in
  let looked i =
    body i;
    None
  in
  let loops =
    [
      (fun () -> Task.parallel_for ~chunk_size:1 pool ~start ~finish ~body);
      (fun () ->
        Task.parallel_for_reduce ~chunk_size:1 pool ~start ~finish ~body (fun () () -> ()) ());
      (fun () -> ignore (Task.parallel_find ~chunk_size:1 pool ~start ~finish ~body:looked));
    ]
  in
  let close_all () = Array.iter (fun gate -> Loc.set gate 0) gates in
  let check loop =
    for _ = 1 to 10 do
      close_all ();
      Task.run pool loop;
      close_all ();
      loop ()
    done
  in
  List.iter check loops

(* A loop puts, a domain of its own takes. *)
let with_another_domain num_domains () =
  let place = Loc.make 0 and n = 100 in
  let sum () = List.fold_left (fun sum _ -> sum + take place) 0 (List.init n Fun.id) in
  let loop =
    Domain.spawn
      (with_pool num_domains (fun pool ->
           Task.run pool (fun () -> Task.parallel_for pool ~start:1 ~finish:n ~body:(put place))))
  in
  check_int "sum" (n * (n + 1) / 2) (sum ());
  Domain.join loop

let waits_on_this_thread pool =
  let loc = Loc.make 0 in
  let opener =
    Task.async pool (fun () ->
        Unix.sleepf 0.01;
        Loc.set loc 1)
  in
  wait_for loc 1;
  Task.await pool opener

let on name f =
  List.map (fun n -> case (Printf.sprintf "%s, %d" name n) (with_pool n f)) [ 0; 1; 3 ]

let () =
  Alcotest.run "Domainslib and Kcas"
    [
      ( "tasks",
        on "two tasks wait for each other" ping_pong
        @ on "many tasks wait for one" many_wait_for_one
        @ on "a thread outside of run waits" waits_on_this_thread );
      ( "loops",
        on "bodies wait for each other" bodies_wait_for_each_other
        @ [
            case "a loop and another domain wait for each other, pool of 1" (with_another_domain 0);
            case "a loop and another domain wait for each other, pool of 4" (with_another_domain 3);
          ] );
    ]
