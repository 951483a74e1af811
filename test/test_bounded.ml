(* Task.map, iter, iter_seq and with_map: so many calls at once, in order, no further than needed. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List
module Array = Stdlib.Array
module Seq = Stdlib.Seq

let nap () = Task.blocking (fun () -> Unix.sleepf 0.002)
let forever () = Latch.await (Latch.create 1)

(* How many of something go on at once, and the most so far. *)
type gauge = { now : int Atomic.t; most : int Atomic.t }

let gauge () = { now = Atomic.make 0; most = Atomic.make 0 }

let rec raise_to cell n =
  let seen = Atomic.get cell in
  if n > seen && not (Atomic.compare_and_set cell seen n) then raise_to cell n

let measured g f x =
  raise_to g.most (Atomic.fetch_and_add g.now 1 + 1);
  Fun.protect (fun () -> f x) ~finally:(fun () -> Atomic.decr g.now)

(* Each way to call a function for the elements 0 to n - 1, [max] at a time. *)
let ways =
  [
    ("map", fun ~max f n -> ignore (Task.map ~max f (List.init n Fun.id)));
    ("iter", fun ~max f n -> Task.iter ~max f (List.init n Fun.id));
    ("iter_seq", fun ~max f n -> Task.iter_seq ~max f (Seq.init n Fun.id));
    ("with_map", fun ~max f n -> Task.with_map ~window:max f (Seq.init n Fun.id) (Seq.iter ignore));
    ( "with_map ~max",
      fun ~max f n -> Task.with_map ~max ~window:50 f (Seq.init n Fun.id) (Seq.iter ignore) );
  ]

let each_way f () = List.iter (fun (name, way) -> f name way) ways

(* {2 Results and bounds} *)

let in_order () =
  let squares = List.init 100 (fun i -> i * i) in
  let square i =
    if i mod 7 = 0 then nap ();
    i * i
  in
  let elements = List.init 100 Fun.id in
  let check max =
    check_equal "map" squares (Task.map ~max square elements);
    check_equal "with_map" squares
      (Task.with_map ~window:max square (List.to_seq elements) List.of_seq);
    let sum = Atomic.make 0 in
    let add i = ignore (Atomic.fetch_and_add sum (square i)) in
    Task.iter ~max add elements;
    Task.iter_seq ~max add (List.to_seq elements);
    check_int "sum" (2 * List.fold_left ( + ) 0 squares) (Atomic.get sum)
  in
  List.iter check [ 1; 2; 3; 8; 99; 100; 101; max_int / 2 ]

let nothing_to_do () =
  let never _ = failf "called" in
  check_equal "map" [] (Task.map ~max:3 never []);
  Task.iter ~max:3 never [];
  Task.iter_seq ~max:3 never Seq.empty;
  check_equal "with_map" [] (Task.with_map ~window:3 never Seq.empty List.of_seq)

(* All calls wait at once, so on one worker, too, the bound is reached. *)
let never_more name way =
  let check max =
    let g = gauge () in
    way ~max (measured g (fun _ -> nap ())) 40;
    check_int (Printf.sprintf "%s ~max:%d" name max) max (Atomic.get g.most);
    check_int "all have ended" 0 (Atomic.get g.now)
  in
  List.iter check [ 1; 2; 5 ]

(* {2 Exceptions} *)

(* The one to the left fails later. *)
let leftmost name way =
  let f i =
    if i = 2 then Task.blocking (fun () -> Unix.sleepf 0.02);
    if i = 2 || i = 5 then raise (Failed i)
  in
  check_raises name (Failed 2) (fun () -> way ~max:8 f 100)

let others_end name way =
  let ended = Atomic.make 0 and begun = Latch.create 3 and told = Atomic.make 0 in
  let rest () =
    try forever ()
    with Task.Cancelled ->
      Atomic.incr told;
      nap ();
      Atomic.incr ended;
      raise Task.Cancelled
  in
  let f i =
    if i = 1 then begin
      Latch.await begun;
      raise (Failed i)
    end
    else if i = 0 then begin
      nap ();
      Atomic.incr ended
    end
    else begin
      Latch.count_down begun;
      rest ()
    end
  in
  check_raises name (Failed 1) (fun () -> way ~max:5 f 5);
  check_int "told" 3 (Atomic.get told);
  check_int "ended" 4 (Atomic.get ended)

let origin () =
  Printexc.record_backtrace true;
  let line = __LINE__ + 1 in
  let f i = if i = 3 then raise (Failed 3) in
  let check name (way : max:int -> (int -> unit) -> int -> unit) =
    check_raises_with_origin ~file:"test_bounded.ml" ~line name (fun () -> way ~max:2 f 9)
  in
  each_way check ()

(* Elements before it were there, and are called. *)
let forcing_fails () =
  let elements = Seq.append (Seq.init 5 Fun.id) (fun () -> raise (Failed 5)) in
  let called = counters 5 in
  let f i =
    nap ();
    Atomic.incr called.(i);
    i
  in
  check_raises "iter_seq" (Failed 5) (fun () ->
      Task.iter_seq ~max:3 (fun i -> ignore (f i)) elements);
  each_once "iter_seq" called;
  let got = ref [] in
  check_raises "with_map" (Failed 5) (fun () ->
      Task.with_map ~window:3 f elements (Seq.iter (fun i -> got := i :: !got)));
  check_equal "with_map" [ 4; 3; 2; 1; 0 ] !got

let results_before_a_failure () =
  let got = ref [] in
  let f i = if i = 4 then raise (Failed 4) else i in
  check_raises "with_map" (Failed 4) (fun () ->
      Task.with_map ~window:8 f (Seq.ints 0) (Seq.iter (fun i -> got := i :: !got)));
  check_equal "before" [ 3; 2; 1; 0 ] !got;
  (* One that is not asked for does not count. *)
  check_int "asked for 4" 6
    (Task.with_map ~window:8 f (Seq.ints 0) (fun s -> Seq.fold_left ( + ) 0 (Seq.take 4 s)))

(* {2 Cancellation} *)

let cancelled name way =
  let g = gauge () and begun = Latch.create 3 in
  let f _ =
    Latch.count_down begun;
    forever ()
  in
  let task = Task.async (fun () -> way ~max:3 (measured g f) 10) in
  Latch.await begun;
  Task.cancel task;
  check_cancelled name (fun () -> Task.await task);
  check_int "all have ended" 0 (Atomic.get g.now)

let too_late name way =
  let g = gauge () in
  check_raises name Task.Deadline_exceeded (fun () ->
      Task.with_deadline 0.01 (fun () -> way ~max:3 (measured g (fun _ -> forever ())) 10));
  check_int "all have ended" 0 (Atomic.get g.now)

let interrupted name (way : max:int -> (int -> unit) -> int -> unit) =
  Sys.catch_break true;
  let g = gauge () and begun = Latch.create 3 in
  let f _ =
    Latch.count_down begun;
    forever ()
  in
  (* It does not take the signal itself. *)
  let interrupt () =
    ignore (Thread.sigmask SIG_BLOCK [ Sys.sigint ]);
    Latch.await begun;
    Unix.sleepf 0.01;
    Unix.kill (Unix.getpid ()) Sys.sigint
  in
  let sender = Thread.create interrupt () in
  Fun.protect
    (fun () -> check_raises name Sys.Break (fun () -> way ~max:3 (measured g f) 10))
    ~finally:(fun () -> Sys.set_signal Sys.sigint Signal_default);
  Thread.join sender;
  check_int "all have ended" 0 (Atomic.get g.now)

(* Fibers are used again: a hook goes with the call that has set it up. *)
let hooks name way =
  let called = counters 20 and begun = Latch.create 2 in
  let f i =
    Task.on_cancel (fun () -> Atomic.incr called.(i));
    if i >= 10 then begin
      Latch.count_down begun;
      forever ()
    end
  in
  let task = Task.async (fun () -> way ~max:2 f 20) in
  Latch.await begun;
  Task.cancel task;
  check_cancelled name (fun () -> Task.await task);
  check_equal "hooks"
    (List.init 20 (fun i -> Bool.to_int (i = 10 || i = 11)))
    (Array.to_list (Array.map Atomic.get called))

(* {2 Laziness} *)

(* Counts what is forced, and by how many at once. *)
let counted n =
  let forced = Atomic.make 0 and g = gauge () in
  let next i =
    measured g
      (fun () ->
        check_int "in order" i (Atomic.fetch_and_add forced 1);
        Domain.cpu_relax ())
      ();
    if i = n then None else Some (i, i + 1)
  in
  (forced, g, Seq.unfold next 0)

let forced_one_by_one () =
  let forced, g, elements = counted 500 in
  Task.iter_seq ~max:8 (fun i -> if i mod 50 = 0 then nap ()) elements;
  check_int "forced" 501 (Atomic.get forced);
  check_int "at once" 1 (Atomic.get g.most)

let forced_no_further () =
  let forced, _, elements = counted max_int in
  let begun = Atomic.make 0 in
  let f i =
    Atomic.incr begun;
    (* In this order: others go on meanwhile. *)
    let forced = Atomic.get forced in
    let ahead = forced - Atomic.get begun in
    if ahead > 3 then failf "%d ahead" ahead;
    if i mod 10 = 0 then nap ();
    if i = 300 then raise Exit
  in
  check_raises "an endless one" Exit (fun () -> Task.iter_seq ~max:4 f elements);
  let forced, _, elements = counted max_int in
  let look taken =
    let forced = Atomic.get forced in
    if forced > taken + 6 then failf "%d forced, %d taken" forced taken
  in
  let consume results =
    let step before () =
      let taken = before + 1 in
      look taken;
      if taken mod 20 = 0 then Unix.sleepf 0.001;
      taken
    in
    Seq.fold_left step 0 (Seq.take 200 results)
  in
  check_int "taken" 200 (Task.with_map ~window:6 ignore elements consume);
  look 200

(* {2 The consumer} *)

let stops_early () =
  let g = gauge () and begun = Latch.create 5 in
  let f i =
    if i >= 3 then begin
      Latch.count_down begun;
      forever ()
    end;
    i
  in
  let consume results =
    let some = List.of_seq (Seq.take 3 results) in
    Latch.await begun;
    some
  in
  check_equal "results" [ 0; 1; 2 ] (Task.with_map ~window:5 (measured g f) (Seq.ints 0) consume);
  check_int "all have ended" 0 (Atomic.get g.now);
  check_int "nothing asked for" 7 (Task.with_map ~window:5 ignore (Seq.ints 0) (fun _ -> 7));
  check_raises "it raises" (Failed 1) (fun () ->
      Task.with_map ~window:5 (measured g (fun _ -> forever ())) (Seq.ints 0) (fun _ ->
          raise (Failed 1)));
  check_int "all have ended" 0 (Atomic.get g.now)

let misuse () =
  let tail (results : int Seq.t) =
    match results () with Cons (_, tail) -> tail | Nil -> failf "empty"
  in
  let kept = Task.with_map ~window:2 Fun.id (Seq.ints 0) tail in
  check_invalid "afterwards"
    ~mentions:[ "Muster.Task.with_map"; "after the function had ended" ]
    (fun () -> kept ());
  check_raises "twice" Seq.Forced_twice (fun () ->
      Task.with_map ~window:2 Fun.id (Seq.ints 0) (fun results ->
          let _ : int Seq.t = tail results in
          tail results))

(* A wait that is cancelled has taken nothing. *)
let asked_again () =
  let go = Latch.create 1 in
  let f i =
    Latch.await go;
    i
  in
  let consume (results : int Seq.t) =
    check_raises "in time" Task.Deadline_exceeded (fun () ->
        Task.with_deadline 0.01 (fun () -> results ()));
    Latch.count_down go;
    List.of_seq results
  in
  check_equal "results" [ 0; 1; 2 ] (Task.with_map ~window:2 f (Seq.init 3 Fun.id) consume)

(* Each element is made of the result before: nothing waits for a window to be full. *)
let no_wait_for_a_full_window () =
  let elements = Chan.unbounded () in
  Chan.send elements 1;
  let answer n =
    if n > 100 then Chan.close elements else Chan.send elements (2 * n);
    n
  in
  let consume results = Seq.fold_left (fun sum n -> sum + answer n) 0 results in
  check_int "sum" 255 (Task.with_map ~window:8 Fun.id (Chan.to_seq elements) consume)

let in_stages () =
  let double = Task.with_map ~window:4 (fun i -> 2 * i) in
  let sum = double (Seq.init 1000 Fun.id) (fun s -> double s (Seq.fold_left ( + ) 0)) in
  check_int "sum" (4 * 499_500) sum;
  let inner i = List.fold_left ( + ) 0 (Task.map ~max:3 (fun j -> i * j) [ 1; 2; 3 ]) in
  check_equal "nested" [ 6; 12; 18 ] (Task.map ~max:2 inner [ 1; 2; 3 ])

(* {2 From anywhere} *)

let everywhere () =
  let check () = each_way never_more () in
  check ();
  in_thread check;
  in_domain check;
  in_pool 2 (fun () -> call_through_c check);
  with_domains 2 (fun pool -> Team.broadcast pool (fun w -> if w = 0 then in_order ()))

(* Calls that do not wait still leave their worker to the tasks that do. *)
let gives_way name way =
  let other_ran = Atomic.make false and before = Atomic.make 0 in
  let call i =
    if i = 0 then ignore (Task.async (fun () -> Atomic.set other_ran true))
    else if not (Atomic.get other_ran) then begin
      Atomic.incr before;
      burn 0.0003
    end
  in
  run_on 1 (fun () -> way ~max:2 call 1_000);
  check_bool name true (Atomic.get before < 500)

(* {2 Memory} *)

(* Halfway through a sequence that remembers its elements: who holds its head holds them all. *)
let elements_go () =
  let n = 20_000 in
  let check name use =
    let freed = Atomic.make 0 in
    let make i =
      let element = ref i in
      if i mod 100 = 0 then Gc.finalise (fun _ -> Atomic.incr freed) element;
      element
    in
    let look i =
      let rec collect times =
        if Atomic.get freed < 50 && times = 0 then failf "%s: few are gone" name;
        Gc.full_major ();
        (* Finalisers run in the domain that made the elements, when it wakes. *)
        if Atomic.get freed < 50 then begin
          Unix.sleepf 0.02;
          collect (times - 1)
        end
      in
      if i = n / 2 then collect 100
    in
    use look (Seq.memoize (Seq.init n make))
  in
  check "iter_seq" (fun look s -> Task.iter_seq ~max:8 (fun x -> look !x) s);
  check "with_map, of elements" (fun look s ->
      Task.with_map ~window:8 (fun x -> !x) s (Seq.iter look));
  check "with_map, of results" (fun look s ->
      Task.with_map ~window:8 Fun.id s (Seq.iter (fun x -> look !x)));
  check "map" (fun look s -> ignore (Task.map ~max:8 (fun x -> look !x) (List.of_seq s)))

let many () =
  let n = 1_000_000 in
  let sum = Task.with_map ~window:64 succ (Seq.init n Fun.id) (Seq.fold_left ( + ) 0) in
  check_int "with_map" (n * (n + 1) / 2) sum;
  let sum = Atomic.make 0 in
  Task.iter_seq ~max:8 (fun i -> ignore (Atomic.fetch_and_add sum i)) (Seq.init n Fun.id);
  check_int "iter_seq" (n * (n - 1) / 2) (Atomic.get sum)

let () =
  let in_pools name f = case name (on_all f) in
  Alcotest.run "at most so many at once"
    [
      ( "results",
        [
          in_pools "results come in order" in_order;
          in_pools "nothing to do" nothing_to_do;
          in_pools "never more calls at once than asked for" (each_way never_more);
          case "calls that compute let other tasks run" (each_way gives_way);
          case "from a thread, a domain, C and a team" everywhere;
          in_pools "pipelines and maps within others" in_stages;
        ] );
      ( "exceptions",
        [
          in_pools "the leftmost one counts" (each_way leftmost);
          in_pools "others are cancelled and end" (each_way others_end);
          case "the backtrace leads to the origin" origin;
          in_pools "forcing fails" forcing_fails;
          in_pools "results before a failure" results_before_a_failure;
        ] );
      ( "cancellation",
        [
          in_pools "cancelled" (each_way cancelled);
          in_pools "a deadline" (each_way too_late);
          in_pools "hooks of calls that have ended" (each_way hooks);
          case "Ctrl-C" (each_way interrupted);
        ] );
      ( "sequences",
        [
          in_pools "forced in order, one at a time" forced_one_by_one;
          in_pools "forced no further than needed" forced_no_further;
          in_pools "a consumer that stops" stops_early;
          in_pools "a result asked for twice, or too late" misuse;
          in_pools "a wait for a result that is cancelled" asked_again;
          in_pools "no wait for a full window" no_wait_for_a_full_window;
        ] );
      ( "memory",
        [
          in_pools "elements are not kept" elements_go; case "a million elements" many;
        ] );
    ]
