(* What functions of tasks are known by, and what is known of them. *)

open Muster_core
open Harness
open Muster

let key = Habit.key

(* {2 Keys} *)

let constant () = 42
let wrap f = Sys.opaque_identity (fun () -> f ())
let add a b () = a + b

let same_code () =
  let of_number n = key (fun () -> n + 1) in
  check_int "another variable" (of_number 1) (of_number 2);
  check_bool "other code" true (of_number 1 <> key (fun () -> Sys.opaque_identity 2));
  check_int "no variables" (key constant) (key constant);
  check_bool "above 0" true (key constant > 0 && of_number 1 > 0)

let what_it_calls () =
  let of_number n = Sys.opaque_identity (fun () -> n + 1)
  and other n = Sys.opaque_identity (fun () -> n + 2) in
  check_int "the same" (key (wrap (of_number 1))) (key (wrap (of_number 2)));
  check_bool "others" true (key (wrap (of_number 1)) <> key (wrap (other 1)));
  check_bool "of a module" true (key (wrap constant) <> key (wrap ignore));
  check_bool "one deeper" true (key (wrap (wrap constant)) <> key (wrap (wrap ignore)));
  check_int "again" (key (wrap constant)) (key (wrap constant))

let partial_applications () =
  let partial f a b : unit -> int = (Sys.opaque_identity f) a b in
  let subtract a b () = a - b in
  check_int "the same" (key (partial add 1 2)) (key (partial add 3 4));
  check_bool "others" true (key (partial add 1 2) <> key (partial subtract 1 2))

(* Closures that hold each other, and very many. *)
let looks_come_to_an_end () =
  let rec even n () = if n = 0 then 1 else odd (n - 1) ()
  and odd n () = if n = 0 then 0 else even (n - 1) () in
  check_bool "two" true (key (even 8) > 0 && key (odd 8) > 0);
  let rec nest n f = if n = 0 then f else nest (n - 1) (wrap f) in
  check_bool "many" true (key (nest 1000 constant) > 0)

let functions_of_several () =
  let rec even n = n = 0 || odd (n - 1) and odd n = n > 0 && even (n - 1) in
  let a () = even 4 and b () = odd 4 in
  check_bool "told apart" true (key a <> key b)

(* {2 What is known} *)

let is_good f = Habit.is_good (key f)

let noted_and_forgotten () =
  let f () = Sys.opaque_identity 7 in
  check_bool "at first" false (is_good f);
  check_int "not found" Habit.other (Habit.find f);
  for _ = 1 to 63 do
    Habit.note (key f)
  done;
  check_bool "not yet" false (is_good f);
  Habit.forget (key f);
  for _ = 1 to 63 do
    Habit.note (key f)
  done;
  check_bool "not in a row" false (is_good f);
  Habit.note (key f);
  check_bool "noted" true (is_good f);
  check_int "found" (key f) (Habit.find f);
  Habit.forget (key f);
  check_bool "forgotten" false (is_good f);
  Habit.note Habit.unknown;
  Habit.forget Habit.unknown;
  Habit.forget Habit.other;
  check_int "still nothing" Habit.other (Habit.find f)

(* A task of the function, begun by a worker, not in place. *)
let begun f = Task.await (Task.async (fun () -> ignore (Task.await (Task.async f))))
let in_pool f () = run_on 1 f

(* One that is short may be held up, and take long. *)
let learns name ~good f =
  let rec is_learned tries =
    begun f;
    is_good f || (tries > 1 && is_learned (tries - 1))
  in
  case name
    (in_pool (fun () ->
         check_bool "at first" false (is_good f);
         check_bool "afterwards" good (is_learned (if good then 10_000 else 200))))

let learned =
  let latch = Latch.create 0 and c = Chan.unbounded () and s = Semaphore.make 1 in
  let m = Mutex.create () and l = Rwlock.create () in
  let computes () = ignore (Sys.opaque_identity (List.init 100 Fun.id)) in
  let raises () = if Sys.opaque_identity true then failwith "expected" in
  [
    learns "computes" ~good:true computes;
    learns "raises" ~good:true (fun () -> try raises () with Failure _ -> ());
    learns "forks" ~good:true (fun () -> ignore (both computes computes));
    learns "an open latch" ~good:false (fun () -> Latch.await latch);
    learns "a message that is there" ~good:false (fun () ->
        Chan.send c ();
        Chan.recv c);
    learns "a choice" ~good:false (fun () -> Chan.(select [ send_case (unbounded ()) () ignore ]));
    learns "a permit" ~good:false (fun () -> Semaphore.with_permit s ignore);
    learns "a free lock" ~good:false (fun () -> Mutex.protect m ignore);
    learns "a free reader's lock" ~good:false (fun () -> Rwlock.protect_read l ignore);
    learns "a scope" ~good:false (fun () -> Task.scope ignore);
    learns "a call that blocks" ~good:false (fun () -> Task.blocking ignore);
    case "a region" (fun () ->
        with_domains 2 (fun pool ->
            let f () = Team.broadcast pool ignore in
            Pool.run pool (fun () -> begun f);
            check_bool "not good" false (is_good f)));
    learns "what never waits, by try" ~good:true (fun () -> ignore (Semaphore.try_acquire s));
    learns "awaits what is over" ~good:false
      (let t = lazy (Task.async ignore) in
       fun () ->
         Task.await (Stdlib.Lazy.force t);
         Task.await (Stdlib.Lazy.force t));
    learns "looks whether it is cancelled" ~good:false Task.check;
    learns "takes long" ~good:false (fun () -> burn 0.001);
    learns "awaits one that computes" ~good:true (fun () -> Task.await (Task.async computes));
    learns "awaits one that locks" ~good:false (fun () ->
        Task.await (Task.async (fun () -> Mutex.protect m ignore)));
    learns "awaits one that waits" ~good:false (fun () ->
        let over = Latch.create 1 in
        let t = Task.async (fun () -> Latch.await over) in
        Latch.count_down over;
        Task.await t);
  ]

(* Once good, a function that waits in place is found out. *)
let found_out () =
  in_pool
    (fun () ->
      let may_wait = ref None in
      let f () = Option.iter Latch.await !may_wait in
      while not (is_good f) do
        begun f
      done;
      let latch = Latch.create 1 in
      may_wait := Some latch;
      let t = Task.async (fun () -> Task.await (Task.async f)) in
      let releases = Task.async (fun () -> Latch.count_down latch) in
      Task.await t;
      Task.await releases;
      check_bool "no longer" false (is_good f))
    ()

(* Tasks that await each other in a row get a stack each, up to a thousand of them. *)
let a_long_row () =
  let latch = Latch.create 0 in
  let rec row n =
    if n = 0 then begin
      Latch.await latch;
      0
    end
    else 1 + Task.await (Task.async (fun () -> row (n - 1)))
  in
  in_pool
    (fun () ->
      List.iter (fun n -> check_int "length" n (row n)) [ 1; 10; 999; 1_000; 1_001; 100_000; 10 ])
    ()

let () =
  Alcotest.run "habit"
    [
      ( "keys",
        [
          case "same code" same_code;
          case "what it calls" what_it_calls;
          case "partial applications" partial_applications;
          case "looks come to an end" looks_come_to_an_end;
          case "functions of several" functions_of_several;
        ] );
      ("known", [ case "noted and forgotten" noted_and_forgotten; case "found out" found_out ]);
      ("learned", learned);
      ("rows", [ case "a long row" a_long_row ]);
    ]
