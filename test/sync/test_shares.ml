(* Slices of a team call that wait for the fiber beneath them: a worker that waits serves
   other callers' regions on top of its stack, which may hold the lock that their shares want. *)

open Harness
module Chan = Muster.Chan
module Mutex = Muster.Mutex
module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team

let rounds = 1000

(* [inside] again and again in tasks of the pool, [outside] in another domain at the same time. *)
let beside pool ~inside ~outside =
  let here = Atomic.make 0 in
  let repeat f =
    Atomic.incr here;
    while Atomic.get here < 2 do
      Domain.cpu_relax ()
    done;
    for _ = 1 to rounds do
      f ()
    done
  in
  let other = Domain.spawn (fun () -> repeat outside) in
  repeat (fun () -> Pool.run pool inside);
  Domain.join other

(* For some us: time for a region to begin. *)
let work () =
  for _ = 1 to 100 do
    Domain.cpu_relax ()
  done

let wait_a_little () =
  for _ = 1 to 2 do
    Task.await (Task.async work)
  done

(* Counted without an atomic: the mutex keeps others out. *)
let region_wants ~inside domains =
  with_domains domains (fun pool ->
      let mutex = Mutex.create () and count = ref 0 in
      let add () = Mutex.protect mutex (fun () -> incr count) in
      let holding f =
        Mutex.protect mutex (fun () ->
            let seen = !count in
            f pool;
            count := seen + 1)
      in
      beside pool
        ~inside:(fun () -> holding inside)
        ~outside:(fun () -> Team.broadcast pool (fun _ -> add ()));
      check_int "count" (rounds * (1 + Pool.size pool)) !count)

let holder_awaits = region_wants ~inside:(fun _ -> wait_a_little ())
let holder_broadcasts = region_wants ~inside:(fun pool -> Team.broadcast pool ignore)

let holder_loops =
  region_wants ~inside:(fun pool -> Team.for_n_dynamic pool 100 (fun ~worker:_ _ -> work ()))

(* Of two regions at once, each share holds the mutex while it waits. *)
let shares_hold_it domains =
  with_domains domains (fun pool ->
      let mutex = Mutex.create () and count = ref 0 in
      let add () =
        Mutex.protect mutex (fun () ->
            let seen = !count in
            wait_a_little ();
            count := seen + 1)
      in
      let region () = Team.broadcast pool (fun _ -> add ()) in
      beside pool ~inside:region ~outside:region;
      check_int "count" (2 * rounds * Pool.size pool) !count)

(* What the shares receive is sent after a wait, during which they may be served. *)
let shares_receive domains =
  with_domains domains (fun pool ->
      let chan = Chan.bounded 0 and got = Atomic.make 0 in
      beside pool
        ~inside:(fun () ->
          wait_a_little ();
          for _ = 1 to Pool.size pool do
            Chan.send chan 1
          done)
        ~outside:(fun () ->
          let before = Atomic.get got in
          Team.broadcast pool (fun _ -> ignore (Atomic.fetch_and_add got (Chan.recv chan)));
          check_int "when the region has ended" (before + Pool.size pool) (Atomic.get got)))

exception Boom of int

(* A share that had to wait, perhaps to go on elsewhere, raises for its region all the same. *)
let shares_raise domains =
  with_domains domains (fun pool ->
      let mutex = Mutex.create () in
      beside pool
        ~inside:(fun () -> Mutex.protect mutex wait_a_little)
        ~outside:(fun () ->
          check_raises "leftmost" (Boom 0) (fun () ->
              Team.broadcast pool (fun i -> Mutex.protect mutex (fun () -> raise (Boom i))))))

let on_pools f () = List.iter f [ 1; 2; 3 ]

let () =
  Alcotest.run "shares"
    [
      ( "a slice wants the lock of the code that its worker runs beneath it",
        [
          case "the holder awaits a task" (on_pools holder_awaits);
          case "the holder makes a team call" (on_pools holder_broadcasts);
          case "the holder shares a loop" (on_pools holder_loops);
          case "the holder is a slice" (on_pools shares_hold_it);
        ] );
      ( "a slice waits for the code that its worker runs beneath it",
        [
          case "a slice receives a message of that code" (on_pools shares_receive);
          case "a slice receives a message of that code and raises" (on_pools shares_raise);
        ] );
    ]
