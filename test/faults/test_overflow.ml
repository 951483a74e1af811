(* [async] where the stack ends. A program of its own: once anything was cancelled in a process, [async] goes another way. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

let with_stacks words f =
  let old = Gc.get () in
  Gc.set { old with stack_limit = words };
  Printexc.record_backtrace false;
  Fun.protect f ~finally:(fun () -> Gc.set old)

(* After the first one on a worker [async] looks for room only where it needs some: each starts its task or raises, whatever
   it meets: sleepers to be woken (after a rest), a deque to be widened (with many pending). *)
let each_starts_or_raises pool =
  with_stacks 4_000 @@ fun () ->
  let limit = Depth.limit pool in
  let ran = Atomic.make 0 and started = ref 0 and overflowed = ref 0 in
  let call () =
    ignore (Sys.opaque_identity (Task.async (fun () -> Atomic.incr ran)));
    0
  in
  let try_at k = if Depth.overflows k call then incr overflowed else incr started in
  let in_pool f =
    Pool.run pool (fun () ->
        Task.await (Task.async ignore);
        f ())
  in
  let after_a_rest k () =
    Thread.delay 0.002;
    try_at k
  and many k () =
    for _ = 1 to 40 do
      try_at k
    done
  in
  for k = limit - 600 to limit do
    in_pool (fun () -> try_at k);
    if limit - k < 100 then in_pool (after_a_rest k);
    in_pool (many k)
  done;
  check_bool "nothing was cancelled" true
    (Atomic.get Muster_core.Place.attention land Muster_core.Place.stops = 0);
  (* OCaml 5.3 has larger frames. *)
  let least = if Sys.ocaml_release.minor < 4 then 0 else !overflowed in
  check_bool "some raise, most start" true (!overflowed > 0 && !started > least);
  wait_until (fun () -> Atomic.get ran >= !started);
  check_int "each that was started ran, and no other" !started (Atomic.get ran)

let () =
  Alcotest.run "overflow"
    [ ("async", [ case "a task starts or its async raises"
      (on_pools [ 1; 2; 3 ] each_starts_or_raises) ]) ]
