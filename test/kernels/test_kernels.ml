(* muster.h: every slice and index once, from any caller; nothing of a call outlives it; collections do
   not wait for long bodies. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

(* Visits every index and is the number of things that went wrong: an index not run once, a worker's
   number out of range or used twice at once, slices that are empty or uneven. *)
external visit_slices : int -> int = "kernels_visit_slices"
external visit_dynamic : int -> int = "kernels_visit_dynamic"
external workers : unit -> int = "kernels_workers"
external huge : unit -> bool = "kernels_huge"
external above_max : dynamic:bool -> unit = "kernels_above_max"
external null : dynamic:bool -> int -> unit = "kernels_null"
external null_exn : unit -> string = "kernels_null_exn"
external any_context : unit -> int = "kernels_any_context"
external meet : int -> float -> bool = "kernels_meet"
external nest : int -> int -> dynamic:bool -> int = "kernels_nest"
external last : int -> float -> dynamic:bool -> bool = "kernels_last"
external last_raising : int -> float -> dynamic:bool -> unit = "kernels_last_raising"
external escaped : unit -> int = "kernels_escaped"

external square : (float, Bigarray.float64_elt, Bigarray.c_layout) Bigarray.Array1.t -> unit
  = "kernels_square"

external rounds : int -> int = "kernels_rounds"
external in_turn : int -> int = "kernels_in_turn"

let covers n =
  check_int (Printf.sprintf "slices of %d" n) 0 (visit_slices n);
  check_int (Printf.sprintf "dynamic, %d" n) 0 (visit_dynamic n)

let use_all () = List.iter covers [ 0; 1; 2; 3; 7; 128; 1000 ]
let in_pool f pool = Pool.run pool f

let sizes_about_the_pools pool =
  in_pool
    (fun () ->
      for n = 0 to 3 * Pool.size pool do
        covers n
      done)
    pool

let many_in_a_row =
  in_pool (fun () ->
      for _ = 1 to 2_000 do
        covers 16
      done)

let bodies_in_turn = in_pool (fun () -> check_int "in turn" 0 (in_turn 200))
let writes_are_seen = in_pool (fun () -> check_int "rounds" 0 (rounds 2_000))

let counts_workers pool =
  let size = Pool.size pool in
  in_pool (fun () -> check_int "workers" size (workers ())) pool;
  check_int "of the default pool" (Pool.size (Pool.default ())) (workers ())

(* All workers take part at the same time, if they are there: one whose domain has still to start
   is done without. *)
let are_parallel pool =
  let all = Pool.size pool in
  let rec meets tries = tries > 0 && (meet all 0.1 || meets (tries - 1)) in
  if not flipped then in_pool (fun () -> check_bool "together" true (meets 50)) pool

(* {2 Sizes and arguments} *)

let huge_sizes = in_pool (fun () -> check_bool "adds up" true (huge ()))

let bad_arguments () =
  let mentions name what = [ "muster_for_" ^ name; what ] in
  let refuses name what f = check_invalid ~mentions:(mentions name what) name f in
  refuses "slices" "fn is NULL" (fun () -> null ~dynamic:false 1);
  refuses "slices" "fn is NULL" (fun () -> null ~dynamic:false 0);
  refuses "n_dynamic" "fn is NULL" (fun () -> null ~dynamic:true 1);
  let most = string_of_int max_int in
  refuses "slices" ("is above " ^ most) (fun () -> above_max ~dynamic:false);
  refuses "n_dynamic" ("is above " ^ most) (fun () -> above_max ~dynamic:true);
  check_equal "_exn" "muster_for_slices_exn: fn is NULL" (null_exn ());
  use_all ()

let any_contexts = in_pool (fun () -> check_int "contexts" 0 (any_context ()))

(* {2 Callers} *)

let from_many_tasks pool =
  Pool.run pool (fun () -> ignore (Task.all (List.init 10 (fun _ () -> use_all ()))))

let in_loops pool =
  Pool.run pool (fun () ->
      Muster.parallel_for ~start:1 ~finish:10 (fun n -> covers (10 * n));
      ignore (Muster.both (fun () -> covers 50) (fun () -> covers 60)));
  Muster.Team.broadcast pool (fun _ -> covers 20)

let often times () =
  for _ = 1 to times do
    use_all ()
  done

let from_several_domains pool =
  let run () = outcome (fun () -> Pool.run pool (often 5)) in
  let domains = List.init 2 (fun _ -> Domain.spawn run) in
  check_equal "here" (Ok ()) (run ());
  List.iter (fun d -> check_equal "there" (Ok ()) (Domain.join d)) domains

let from_several_threads pool = ignore (in_threads 4 (fun _ -> Pool.run pool (often 3)))

let outside_any_pool () =
  use_all ();
  in_domain use_all;
  in_thread use_all

(* A call that finds the default pool closed has it started again. *)
let while_the_default_pool_is_closed () =
  let stop = Atomic.make false in
  let rec close () =
    Pool.close (Pool.default ());
    if not (Atomic.get stop) then close ()
  in
  let domain = Domain.spawn close in
  Fun.protect (often 3_000) ~finally:(fun () ->
      Atomic.set stop true;
      Domain.join domain)

let in_bodies pool =
  Pool.run pool (fun () ->
      List.iter
        (fun dynamic ->
          check_int "nested" 0 (nest 7 20 ~dynamic);
          check_int "nested" 0 (nest 40 3 ~dynamic))
        [ false; true ])

let two_pools () =
  with_domains 2 @@ fun a ->
  with_domains 3 @@ fun b ->
  Pool.run a (fun () ->
      check_int "outer" 2 (workers ());
      Pool.run b (fun () ->
          check_int "inner" 3 (workers ());
          use_all ());
      use_all ())

(* {2 The pool's size}

   C keeps arrays of [muster_workers ()] places, so no loop may use more, and what a loop has cut must be
   done even if the pool shrinks meanwhile. *)

let of_three f =
  let open Muster_core in
  let pool = Pool.create ~domains:3 ~oversubscribe:true () in
  let set size = Atomic.set pool.size size in
  Fun.protect (fun () -> Pool.run pool (fun () -> f pool set)) ~finally:(fun () -> Pool.close pool)

let keeps_to_what_c_was_told () =
  of_three @@ fun _ set ->
  set 1;
  check_int "told" 1 (workers ());
  set 3;
  check_int "told again" 1 (workers ());
  for _ = 1 to 200 do
    use_all ()
  done

(* Beside [f], one that makes the pool smaller and larger again. *)
let while_it_changes set f =
  let stop = Atomic.make false in
  let rec change () =
    if not (Atomic.get stop) then begin
      List.iter
        (fun size ->
          set size;
          for _ = 1 to 50 do
            Domain.cpu_relax ()
          done)
        [ 1; 3 ];
      change ()
    end
  in
  let domain = Domain.spawn change in
  Fun.protect f ~finally:(fun () ->
      Atomic.set stop true;
      Domain.join domain;
      set 3)

let nothing_is_lost_when_it_shrinks () =
  of_three @@ fun pool set ->
  check_int "told" 3 (workers ());
  while_it_changes set @@ fun () ->
  for _ = 1 to 3_000 do
    check_int "slices" 0 (visit_slices 50)
  done;
  for _ = 1 to 3_000 do
    let sum = Atomic.make 0 in
    let add ~worker:_ i = ignore (Atomic.fetch_and_add sum i) in
    Muster_loop.Team.for_n pool 50 add;
    check_int "for_n" 1225 (Atomic.get sum)
  done

(* {2 Short loops} *)

external partakers : int -> int = "kernels_partakers"

let short_loops_stay_with_the_caller =
  in_pool (fun () ->
      let calls = 1_000 in
      let shared = ref 0 in
      for _ = 1 to calls do
        if partakers 16 > 1 then incr shared
      done;
      (* The machine may be busy, and a body that was interrupted looks dear. *)
      check_bool "by the caller" true (!shared < calls / 2))

(* {2 Exceptions} *)

let rec reap child =
  try ignore (Unix.waitpid [] child) with Unix.Unix_error (EINTR, _, _) -> reap child

(* Two interrupts, from a process of its own, while the caller waits for the others; what comes late
   does nothing. Whether one raised. *)
let interrupting f =
  let armed = Atomic.make false in
  let raise_if_armed _ = if Atomic.get armed then raise Sys.Break in
  let before = Sys.signal Sys.sigint (Signal_handle raise_if_armed) in
  let interrupts = "sleep 0.04; kill -INT $0; sleep 0.02; kill -INT $0" in
  let sh = [| "/bin/sh"; "-c"; interrupts; string_of_int (Unix.getpid ()) |] in
  let child = Unix.create_process "/bin/sh" sh Unix.stdin Unix.stdout Unix.stderr in
  let raised =
    try
      Atomic.set armed true;
      f ()
    with Sys.Break -> true
  in
  Atomic.set armed false;
  reap child;
  Unix.sleepf 0.005;
  Sys.set_signal Sys.sigint before;
  raised

let interrupted pool ~dynamic =
  ignore (interrupting (fun () -> Pool.run pool (fun () -> last 3 0.03 ~dynamic)));
  interrupting (fun () ->
      Pool.run pool (fun () ->
          last_raising 3 0.03 ~dynamic;
          false))

let nothing_outlives_an_interrupt pool =
  let raised = ref 0 in
  for _ = 1 to 3 do
    if interrupted pool ~dynamic:false then incr raised;
    if interrupted pool ~dynamic:true then incr raised
  done;
  check_int "bodies that outlived their call" 0 (escaped ());
  if Pool.size pool > 1 then check_bool "raised" true (!raised > 0);
  is_usable pool

external count_dynamic : int -> float -> int = "kernels_count_dynamic"

(* In a cancelled task nothing begins any more, at the call and between chunks. *)
let is_cancelled pool =
  let ran = Atomic.make (-1) in
  let started = Atomic.make false in
  let kernel () =
    Atomic.set started true;
    Atomic.set ran (count_dynamic 1_000 0.002)
  in
  Pool.run pool (fun () ->
      let task = Task.async kernel in
      let canceller =
        Domain.spawn (fun () ->
            wait_until (fun () -> Atomic.get started);
            Unix.sleepf 0.01;
            Task.cancel task)
      in
      ignore (outcome (fun () -> Task.await task));
      Domain.join canceller;
      wait_until (fun () -> Atomic.get ran >= 0));
  check_bool "ended early" true (Atomic.get ran < 1_000);
  in_pool use_all pool

(* However little there is to do. *)
let short_loops pool =
  let none = Bigarray.(Array1.create Float64 C_layout 0) and told = ref 0 in
  let try_ loop = try loop () with Task.Cancelled -> incr told in
  let cancelled loop scope =
    Task.cancel_scope scope;
    try_ loop
  in
  let in_scope loop = try_ (fun () -> Task.scope (cancelled loop)) in
  Pool.run pool (fun () ->
      List.iter in_scope [ (fun () -> square none); (fun () -> ignore (partakers 0)) ]);
  check_int "the loops and their scopes" 4 !told

(* {2 The heap} *)

let is_square i = float i *. float i

let squares_while_others_allocate pool =
  let n = 10_000 in
  let stop = Atomic.make false in
  let allocate () =
    while not (Atomic.get stop) do
      ignore (Sys.opaque_identity (List.init 1_000 Fun.id))
    done
  in
  let domain = Domain.spawn allocate in
  Fun.protect ~finally:(fun () ->
      Atomic.set stop true;
      Domain.join domain)
  @@ fun () ->
  Pool.run pool @@ fun () ->
  for _ = 1 to 100 do
    let a = Bigarray.Array1.init Float64 C_layout n float in
    square a;
    for i = 0 to n - 1 do
      if a.{i} <> is_square i then failf "%d: %f" i a.{i}
    done
  done

external running : unit -> int = "kernels_running"

(* A long body holds up no collection of another domain. *)
let collections_do_not_wait ~dynamic pool =
  let run () = ignore (Pool.run pool (fun () -> last (Pool.size pool) 0.5 ~dynamic)) in
  let collects_meanwhile () =
    let domain = Domain.spawn run in
    wait_until (fun () -> running () > 0);
    Unix.sleepf 0.05;
    Gc.minor ();
    let meanwhile = running () > 0 in
    Domain.join domain;
    meanwhile
  in
  (* A machine that is busy may take long. *)
  check_bool "meanwhile" true (List.exists (fun _ -> collects_meanwhile ()) [ 1; 2; 3 ])

(* {2 Programs} *)

let bare_program () =
  let child = Child.run "bare.exe" [] in
  Child.check_success child;
  check_equal "bare" "4950\n" child.output

let program_of_the_guide () =
  let child = Child.run "../../doc/scale/scale.exe" [] in
  Child.check_success child;
  check_equal "scale" "499999\n" child.output

let without_lock () =
  let child = Child.run "without_lock.exe" [] in
  check_bool "ended" true (child.status <> WEXITED 0);
  check_bool child.errors true
    (contains child.errors ~sub:"muster_for_slices: called by a thread that does not hold")

let () =
  Alcotest.run "kernels"
    [
      ( "exactly once",
        [
          case "every call runs each index once, for many sizes"
            (on_pools [ 1; 2; 3; 8 ] (in_pool use_all));
          case "sizes near the number of workers" (on_each_count sizes_about_the_pools);
          case "many calls in a row" (on_pools [ 1; 2; 3 ] many_in_a_row);
          case "two bodies in turn" (on_each_count bodies_in_turn);
          case "plain writes of one call are seen in the next" (on_each_count writes_are_seen);
          case "muster_workers gives the pool's size" (on_each_count counts_workers);
          case "bodies run in parallel" (on_each_count are_parallel);
          case "short loops stay with the caller"
            (on_pools [ 2; 3 ] short_loops_stay_with_the_caller);
        ] );
      ( "arguments",
        [
          case "huge sizes" (on_each_count huge_sizes);
          case "bad arguments are refused" bad_arguments;
          case "the context pointer reaches the bodies as it is" (on_pools [ 1; 2 ] any_contexts);
        ] );
      ( "callers",
        [
          case "many tasks call at once" (on_each_count from_many_tasks);
          case "iterations of loops call" (on_each_count in_loops);
          case "several domains call at once" (on_each_count from_several_domains);
          case "several systhreads call at once" (on_each_count from_several_threads);
          case "a thread outside all pools calls" outside_any_pool;
          case "the default pool is closed during calls" while_the_default_pool_is_closed;
          case "bodies make calls" (on_each_count in_bodies);
          case "a call in a pool within another pool's call" two_pools;
        ] );
      ( "the pool's size",
        [
          case "the number of workers stays as C was told" keeps_to_what_c_was_told;
          case "no index is lost when the pool shrinks" nothing_is_lost_when_it_shrinks;
        ] );
      ( "exceptions",
        [
          case "no body outlives two Ctrl-C" (on_pools [ 1; 2; 3 ] nothing_outlives_an_interrupt);
          case "a cancelled call skips slices" (on_pools [ 2; 3 ] is_cancelled);
          case "a cancelled call of no indices raises" (on_pools [ 1; 2 ] short_loops);
        ] );
      ( "the heap",
        [
          case "other workers allocate during bodies" (on_each_count squares_while_others_allocate);
          case "a collection does not wait for slices"
            (on_pools [ 2 ] (collections_do_not_wait ~dynamic:false));
          case "a collection does not wait for dynamic chunks"
            (on_pools [ 2 ] (collections_do_not_wait ~dynamic:true));
        ] );
      ( "programs",
        [
          case "a program that names no module of Muster" bare_program;
          case "the program of the guide" program_of_the_guide;
          case "a program whose bodies run without the lock" without_lock;
        ] );
    ]
