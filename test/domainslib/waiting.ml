(* What may wait for what, and what waiting costs. *)

open Domainslib
open Harness
open Pools

(* {2 Bodies that wait for others by suspending} *)

(* Pairs: the left half receives what the right half sends. *)
let pairs_of_bodies ?chunk_size ~pairs pool =
  let channels = Array.init pairs (fun _ -> Chan.make_bounded 0) in
  let sum = Atomic.make 0 in
  let body i =
    if i < pairs then ignore (Atomic.fetch_and_add sum (Chan.recv channels.(i)))
    else Chan.send channels.(i - pairs) (i - pairs)
  in
  Task.parallel_for ?chunk_size pool ~start:0 ~finish:((2 * pairs) - 1) ~body;
  check_int "sum" (pairs * (pairs - 1) / 2) (Atomic.get sum)

(* Often enough that the loop is known, and short. *)
let bodies_may_wait_for_each_other pool =
  let in_and_outside f =
    f ();
    Task.run pool f
  in
  for _ = 1 to 20 do
    in_and_outside (fun () -> pairs_of_bodies ~chunk_size:1 ~pairs:1 pool);
    in_and_outside (fun () -> pairs_of_bodies ~chunk_size:1 ~pairs:50 pool)
  done;
  if Task.get_num_domains pool > 1 then
    for _ = 1 to 20 do
      in_and_outside (fun () -> pairs_of_bodies ~pairs:1 pool);
      in_and_outside (fun () -> pairs_of_bodies ~pairs:8 pool)
    done

exception Boom of int

(* So may those of the other loops, whichever half waits. Again often enough that the loops are known. *)
let bodies_of_others_may_wait pool =
  let pairs = 20 in
  let finish = (2 * pairs) - 1 and channels = Array.init pairs (fun _ -> Chan.make_bounded 0) in
  let meet ~first i =
    let channel = channels.(i mod pairs) in
    if i < pairs = first then Chan.recv channel
    else begin
      Chan.send channel i;
      0
    end
  in
  let reduced first = Task.parallel_for_reduce ~chunk_size:1 ~start:0 ~finish ~body:(meet ~first) in
  let searched first =
    let body i = if meet ~first i < 0 then Some i else None in
    Task.parallel_find ~chunk_size:1 ~start:0 ~finish ~body
  in
  let loops () =
    for _ = 1 to 20 do
      let least = pairs * (pairs - 1) / 2 in
      check_int "sum" (least + (pairs * pairs)) (reduced true pool ( + ) 0);
      check_int "sum" least (reduced false pool ( + ) 0);
      check_equal "found" None (searched true pool);
      check_equal "found" None (searched false pool)
    done
  in
  loops ();
  Task.run pool loops

(* The first one waits for one that follows, at once or in a task that it awaits. *)
let first_one_waits pool =
  let gate () = Muster.Latch.create 1 in
  let body gate i =
    if i = 0 then Muster.Latch.await gate;
    if i = 1 then Task.await pool (Task.async pool (fun () -> Muster.Latch.await gate));
    if i = 17 then Muster.Latch.count_down gate;
    i
  in
  let start = 0 and finish = 40 and chunk_size = 1 in
  let reduced = body (gate ()) in
  check_int "sum" 820
    (Task.parallel_for_reduce ~chunk_size ~start ~finish ~body:reduced pool ( + ) 0);
  let searched gate i = if body gate i < 0 then Some i else None in
  check_equal "found" None
    (Task.parallel_find ~chunk_size ~start ~finish ~body:(searched (gate ())) pool);
  let swept gate i = ignore (body gate i) in
  Task.parallel_for ~chunk_size ~start ~finish ~body:(swept (gate ())) pool

(* Of a region a loop is a share, which has no fiber. *)
let bodies_in_shares_may_wait () =
  with_pool ~name:"shares" 1 @@ fun pool ->
  let regions = Option.get (Muster.Pool.find "shares") in
  for _ = 1 to 10 do
    Muster.Team.broadcast regions (fun _ -> first_one_waits pool)
  done

(* The bracketing stays, and one that raises after it has waited has the others end first. *)
let reductions_that_waited pool =
  let n = 60 in
  let gates = Array.init n (fun _ -> Muster.Latch.create 1) and running = Atomic.make 0 in
  (* What follows a failure may be skipped. *)
  let wait_for_another ~raising i =
    if raising = [] && i < n - 1 then Muster.Latch.await gates.(i + 1)
  in
  let body ~raising i =
    Atomic.incr running;
    Fun.protect
      ~finally:(fun () -> Atomic.decr running)
      (fun () ->
        wait_for_another ~raising i;
        Muster.Latch.count_down gates.(i);
        Task.await pool (Task.async pool (fun () -> Unix.sleepf 1e-5));
        if List.mem i raising then raise (Boom i);
        string_of_int i)
  in
  let reduce raising =
    Array.iteri (fun i _ -> gates.(i) <- Muster.Latch.create 1) gates;
    Task.parallel_for_reduce ~chunk_size:1 ~start:0 ~finish:(n - 1) ~body:(body ~raising) pool ( ^ )
      ""
  in
  let all = String.concat "" (List.init n string_of_int) in
  for _ = 1 to 5 do
    check_equal "in order" all (reduce []);
    check_raises "the leftmost" (Boom 7) (fun () -> reduce [ 7; 40 ]);
    check_int "all have ended" 0 (Atomic.get running)
  done

(* What a body opens around its wait is not around the others. *)
let one_waits_under_a_deadline pool =
  let n = 40 in
  let body i =
    if i > 0 then begin
      Task.await pool (Task.async pool (fun () -> Unix.sleepf 2e-3));
      Muster.Task.check ();
      1
    end
    else
      let never = Muster.Latch.create 1 in
      match Muster.Task.with_deadline 5e-3 (fun () -> Muster.Latch.await never) with
      | () -> assert false
      | exception Muster.Task.Deadline_exceeded -> 0
  in
  for _ = 1 to 3 do
    let sum () = Task.parallel_for_reduce ~chunk_size:1 ~start:0 ~finish:n ~body pool ( + ) 0 in
    check_int "sum" n (Task.run pool sum)
  done

(* One raises after it has waited. *)
(* Those that had begun have ended, whichever these are. *)
let bodies_that_waited_may_raise pool =
  let channel = Chan.make_bounded 0 and begun = Atomic.make 0 and ended = Atomic.make 0 in
  let body i =
    if i = 0 then (
      ignore (Chan.recv channel);
      raise (Boom i));
    Atomic.incr begun;
    if i = 30 then Chan.send channel ();
    Atomic.incr ended
  in
  check_raises "loop" (Boom 0) (fun () ->
      Task.parallel_for ~chunk_size:1 pool ~start:0 ~finish:30 ~body);
  let at_once = Atomic.get ended in
  check_int "ended of those that began" (Atomic.get begun) at_once;
  check_bool "at once" true (at_once > 0)

let bodies_may_wait_in_loops_in_loops pool =
  let sum = Atomic.make 0 in
  let add i = ignore (Atomic.fetch_and_add sum i) in
  let inner i j = add (Task.await pool (Task.async pool (fun () -> i * j))) in
  let outer i = Task.parallel_for ~chunk_size:1 pool ~start:1 ~finish:20 ~body:(inner i) in
  Task.parallel_for ~chunk_size:1 pool ~start:1 ~finish:20 ~body:outer;
  check_int "sum" (210 * 210) (Atomic.get sum)

(* {2 Bodies that wait while they hold a lock}

   Each chunk is a task of its own to Muster's locks, whether or not the caller has held one. *)

(* Not in [await], where the caller may do the other's task. *)
let wait_a_little pool =
  let latch = Muster.Latch.create 1 in
  let other = Task.async pool (fun () -> Muster.Latch.count_down latch) in
  Muster.Latch.await latch;
  Task.await pool other

let in_each_chunk pool body =
  let loop () = Task.parallel_for ~chunk_size:1 pool ~start:0 ~finish:30 ~body in
  loop ();
  Task.run pool (fun () ->
      loop ();
      let held = Muster.Mutex.create () in
      Muster.Mutex.protect held loop)

let one_body_at_a_time pool =
  let inside = Atomic.make 0 in
  let alone () =
    check_int "nobody else inside" 0 (Atomic.fetch_and_add inside 1);
    wait_a_little pool;
    Atomic.decr inside
  in
  let mutex = Muster.Mutex.create () and rwlock = Muster.Rwlock.create () in
  in_each_chunk pool (fun _ -> Muster.Mutex.protect mutex alone);
  in_each_chunk pool (fun i ->
      if i mod 4 = 0 then Muster.Rwlock.protect_write rwlock alone
      else Muster.Rwlock.protect_read rwlock (fun () -> wait_a_little pool))

let bodies_may_force_what_another_computes pool =
  let computed = Atomic.make 0 in
  let value =
    Muster.Lazy.from_fun (fun () ->
        wait_a_little pool;
        Atomic.incr computed)
  in
  in_each_chunk pool (fun _ -> Muster.Lazy.force value);
  check_int "computed" 1 (Atomic.get computed)

(* Body 0 waits with the lock, for all others. *)
let only_who_locked_unlocks pool =
  let refused = Atomic.make 0 and mutex = Muster.Mutex.create () in
  let gate = Muster.Latch.create 30 and is_locked = Muster.Latch.create 1 in
  let holder () =
    Muster.Mutex.protect mutex (fun () ->
        Muster.Latch.count_down is_locked;
        Muster.Latch.await gate)
  in
  let other () =
    Muster.Latch.await is_locked;
    (try Muster.Mutex.unlock mutex with Invalid_argument _ -> Atomic.incr refused);
    Muster.Latch.count_down gate
  in
  Task.parallel_for ~chunk_size:1 pool ~start:0 ~finish:30 ~body:(fun i ->
      if i = 0 then holder () else other ());
  check_int "refused" 30 (Atomic.get refused)

(* {2 Code that keeps its worker} *)

(* Lets the machine's other threads run, as there may be fewer CPUs than workers. *)
let rec poll condition =
  if not (condition ()) then begin
    Unix.sleepf 1e-5;
    poll condition
  end

let a_task_begins_unawaited pool =
  Task.run pool (fun () ->
      for _ = 1 to 100 do
        let begun = Atomic.make false in
        let p = Task.async pool (fun () -> Atomic.set begun true) in
        poll (fun () -> Atomic.get begun);
        Task.await pool p
      done)

(* As many bodies as workers may poll for each other, also where they have been quick before. *)
let bodies_may_poll_for_each_other pool =
  let count = Task.get_num_domains pool in
  for _ = 1 to 200 do
    let there = Atomic.make 0 in
    let meet () =
      Atomic.incr there;
      poll (fun () -> Atomic.get there = count)
    in
    Task.parallel_for pool ~start:1 ~finish:count ~body:(fun _ -> meet ());
    Atomic.set there 0;
    check_equal "find" None
      (Task.parallel_find ~chunk_size:1 pool ~start:1 ~finish:count ~body:(fun _ ->
           meet ();
           None));
    Atomic.set there 0;
    check_int "reduce" count
      (Task.parallel_for_reduce ~chunk_size:1 pool ( + ) 0 ~start:1 ~finish:count ~body:(fun _ ->
           meet ();
           1))
  done

(* {2 Idleness} *)

let burns_nothing what f =
  let (), seconds = cpu_seconds f in
  if seconds > 0.05 then failf "%s burnt %.3f s of CPU in 2 s" what seconds

let main_sleeps_while_it_waits () =
  with_pool 1 @@ fun pool ->
  let slow () = Unix.sleepf 2. in
  burns_nothing "run and await" (fun () ->
      Task.run pool (fun () ->
          let p = Task.async pool slow in
          Unix.sleepf 0.01;
          Task.await pool p));
  burns_nothing "await outside of run" (fun () ->
      let p = Task.async pool slow in
      Unix.sleepf 0.01;
      Task.await pool p)

type _ Effect.t += Ask : int Effect.t

(* An effect that the body does not handle itself is nobody's, in whichever chunk. *)
let other_effects pool =
  let body i = if i = 50 then ignore (Effect.perform Ask) else burn 1e-5 in
  for _ = 1 to 20 do
    check_raises "not handled" (Effect.Unhandled Ask) (fun () ->
        Task.parallel_for pool ~start:0 ~finish:99 ~body)
  done

let idle_pools_sleep () =
  with_pool 1 @@ fun pool ->
  Task.run pool (fun () -> Task.parallel_for pool ~start:1 ~finish:1000 ~body:ignore);
  burns_nothing "an idle pool" (fun () -> Unix.sleepf 2.)

let suspending =
  let on = on_pools [ 0; 1; 7 ] in
  [
    case "bodies may wait for each other" (on bodies_may_wait_for_each_other);
    case "bodies of reductions and searches may wait" (on bodies_of_others_may_wait);
    case "bodies in other workers' halves may wait" bodies_in_shares_may_wait;
    case "results of bodies that waited are reduced in order" (on reductions_that_waited);
    case "a body waits under a deadline" (on one_waits_under_a_deadline);
    case "a body may raise after it has waited" (on bodies_that_waited_may_raise);
    case "bodies may wait in loops in loops" (on bodies_may_wait_in_loops_in_loops);
    case "bodies may perform the user's effects" (on other_effects);
    case "one body at a time holds a lock" (on one_body_at_a_time);
    case "a body forces a lazy value that another computes" (on bodies_may_force_what_another_computes);
    case "only the body that locked unlocks" (on only_who_locked_unlocks);
  ]

let idle =
  [
    case "the main domain sleeps while it waits" main_sleeps_while_it_waits;
    case "an idle pool sleeps" idle_pools_sleep;
  ]

let keeping num_domains =
  [
    case "a task begins though its maker does not await it"
      (on_pools [ num_domains ] a_task_begins_unawaited);
    case "bodies may poll for each other" (on_pools [ num_domains ] bodies_may_poll_for_each_other);
  ]
