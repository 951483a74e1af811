(* Task.on_cancel: hooks are called once, in time, and do no harm. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List

let hooks () =
  let fired = Atomic.make 0 in
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      let hook () = Atomic.incr fired in
      let quiet = Task.async (fun () -> Task.on_cancel hook) in
      Task.await quiet;
      Task.cancel quiet;
      check_int "after the end" 0 (Atomic.get fired);
      let work () =
        Task.on_cancel hook;
        Task.on_cancel hook;
        endless began Task.check ()
      in
      let t = Task.async work in
      until began;
      Task.cancel t;
      Task.cancel t;
      check_int "at once" 2 (Atomic.get fired);
      check_cancelled "await" (fun () -> Task.await t);
      check_int "once each" 2 (Atomic.get fired))

(* Of what the code that cleans up begins, nothing is cancelled. *)
let hook_of_who_was_told () =
  in_pool 1 (fun () ->
      let fired = Atomic.make 0 in
      let work () =
        try Task.check () with Task.Cancelled -> Task.on_cancel (fun () -> Atomic.incr fired)
      in
      let c = Chan.bounded 1 in
      let t =
        Task.async (fun () ->
            Task.cancel (Chan.recv c);
            work ())
      in
      Chan.send c t;
      check_cancelled "await" (fun () -> Task.await t);
      check_int "not called" 0 (Atomic.get fired))

(* What hooks may do in the midst of what was cancelled: looks at its own cancellation, and waits.
   *)
let checkpoints =
  let unit () = () in
  [
    ("check", Task.check);
    ("both", fun () -> ignore (both unit unit));
    ("parallel_for", fun () -> parallel_for ~grain:1 ~start:1 ~finish:100 ignore);
    ("await", fun () -> Task.await (Task.async unit));
    ("a scope", fun () -> Task.scope (fun s -> Task.await (Task.fork s unit)));
    ("send", fun () -> Chan.send (Chan.unbounded ()) ());
    ("map", fun () -> ignore (Array.map succ (Stdlib.Array.make 5_000 0)));
    ("yields", fun () -> Task.blocking unit);
  ]

(* The [Cancelled] is the body's, not the hook's. *)
let hooks_take_nothing () =
  let tries = [ 1; 2; 3 ] in
  let in_a_scope hook =
    Task.scope (fun s ->
        Task.on_cancel hook;
        Task.cancel_scope s;
        endless (Atomic.make false) Task.check ())
  and late hook =
    match
      Task.with_deadline 0.01 (fun () ->
          Task.on_cancel hook;
          endless (Atomic.make false) Task.check ())
    with
    | () -> ()
    | exception Task.Deadline_exceeded -> raise Task.Cancelled
  and already hook =
    Task.scope (fun s ->
        Task.cancel_scope s;
        Task.on_cancel hook;
        Task.check ())
  in
  let check domains (name, act) (way, f) =
    let done_ = Atomic.make 0 in
    let hook () =
      act ();
      Atomic.incr done_
    in
    in_pool domains (fun () -> check_cancelled (name ^ ", " ^ way) (fun () -> f hook));
    check_int (name ^ ", " ^ way ^ ", to its end") 1 (Atomic.get done_)
  in
  let ways = [ ("in a scope", in_a_scope); ("deadline", late); ("already", already) ] in
  List.iter
    (fun domains ->
      List.iter (fun checkpoint -> List.iter (check domains checkpoint) ways) checkpoints)
    tries

let handlers_take_nothing () =
  let called = Atomic.make 0 in
  Task.set_uncaught_handler (fun _ _ ->
      Task.check ();
      Atomic.incr called);
  List.iter
    (fun domains ->
      in_pool domains (fun () ->
          check_cancelled "told" (fun () ->
              Task.scope (fun s ->
                  Task.on_cancel (fun () -> raise Exit);
                  Task.cancel_scope s;
                  Task.check ()))))
    [ 1; 2; 3 ];
  check_int "called" 3 (Atomic.get called)

(* The fiber beneath holds the lock that the hook wants: it is told, lets go, and the hook goes on.
   *)
let hook_waits_for_a_lock () =
  List.iter
    (fun domains ->
      let counted = Atomic.make 0 in
      in_pool domains (fun () ->
          let m = Mutex.create () in
          check_cancelled "told" (fun () ->
              Task.scope (fun s ->
                  Mutex.protect m (fun () ->
                      Task.on_cancel (fun () -> Mutex.protect m (fun () -> Atomic.incr counted));
                      Task.cancel_scope s;
                      check_int "not yet" 0 (Atomic.get counted);
                      Task.check ()))));
      check_int "afterwards" 1 (Atomic.get counted))
    [ 1; 2; 3 ]

let hook_is_interrupted () =
  in_pool 2 (fun () ->
      let others = Atomic.make 0 and began = Atomic.make false in
      let count () = Atomic.incr others in
      let work () =
        Task.on_cancel count;
        Task.on_cancel (fun () -> raise Sys.Break);
        Task.on_cancel count;
        endless began Task.check ()
      in
      let t = Task.async work in
      until began;
      check_raises "who cancels" Sys.Break (fun () -> Task.cancel t);
      check_int "the others" 2 (Atomic.get others);
      check_cancelled "await" (fun () -> Task.await t))

(* On a busy machine a round may wait for several turns of the kernel's. The result is their number.
   *)
let rounds f =
  let stop_at = Unix.gettimeofday () +. 5. in
  let rec go n =
    if n < 2_000 && Unix.gettimeofday () < stop_at then begin
      f n;
      go (n + 1)
    end
    else n
  in
  go 0

(* A task of a scope may notice that this was stopped, and end, before the thread that stops the
   scope comes to it. *)
let hooks_of_the_quick () =
  in_pool 3 (fun () ->
      let called = Atomic.make 0 and made = Atomic.make 0 and again = Atomic.make 0 in
      let round _ =
        check_cancelled "scope" (fun () ->
            Task.scope (fun s ->
                let began = Atomic.make false in
                let quick () =
                  let mine = Atomic.make false in
                  Task.on_cancel (fun () ->
                      Atomic.incr (if Atomic.exchange mine true then again else called));
                  Atomic.incr made;
                  endless began Task.check ()
                in
                ignore (Task.fork s quick);
                until began;
                Task.cancel_scope s))
      in
      let rounds = rounds round in
      check_int "tasks" rounds (Atomic.get made);
      check_int "hooks" rounds (Atomic.get called);
      check_int "twice" 0 (Atomic.get again))

(* {2 Hooks that are taken back} *)

let while_it_runs () =
  let called = Atomic.make 0 and other = Atomic.make 0 in
  let hook () = Atomic.incr called in
  everywhere
    (fun () ->
      Atomic.set called 0;
      Atomic.set other 0;
      check_int "value" 7 (Task.with_on_cancel hook (fun () -> 7));
      check_raises "exception" Exit (fun () -> Task.with_on_cancel hook (fun () -> raise Exit));
      check_cancelled "in it" (fun () ->
          Task.scope (fun s ->
              Task.with_on_cancel hook (fun () ->
                  Task.cancel_scope s;
                  check_int "at once" 1 (Atomic.get called);
                  Task.check ())));
      check_cancelled "after it" (fun () ->
          Task.scope (fun s ->
              Task.on_cancel (fun () -> Atomic.incr other);
              Task.with_on_cancel hook ignore;
              (try Task.with_on_cancel hook (fun () -> raise Exit) with Exit -> ());
              Task.cancel_scope s));
      check_cancelled "before it" (fun () ->
          Task.scope (fun s ->
              Task.cancel_scope s;
              Task.with_on_cancel hook Task.check));
      check_int "in time" 2 (Atomic.get called);
      check_int "the other, which stays" 1 (Atomic.get other))
    ()

(* From another thread, at any moment: the hook is not called once the call has returned. *)
let races_its_removal () =
  in_pool 2 (fun () ->
      let round n =
        let began = Atomic.make false and over = Atomic.make false and called = Atomic.make false in
        let hook () = Atomic.set called true in
        let t =
          Task.async (fun () ->
              Task.with_on_cancel hook (fun () -> Atomic.set began true);
              Atomic.set over true;
              endless (Atomic.make false) Task.check ())
        in
        look_until began;
        for _ = 1 to n mod 64 do
          Domain.cpu_relax ()
        done;
        let seen = Atomic.get over in
        Task.cancel t;
        (try Task.await t with Task.Cancelled -> ());
        check_bool "not called afterwards" false (seen && Atomic.get called)
      in
      ignore (rounds round))

let () =
  Alcotest.run "on_cancel"
    [
      ( "hooks",
        [
          case "a hook is called once, when its task or scope is cancelled" hooks;
          case "a hook that is made while cleaning up is not called" hook_of_who_was_told;
          case "a hook takes no cancellation of its task" hooks_take_nothing;
          case "a signal handler takes no cancellation of its task" handlers_take_nothing;
          case "a hook may wait for a lock" hook_waits_for_a_lock;
          case "Ctrl-C in a hook reaches the thread's code" hook_is_interrupted;
          case "a hook of a task that ends at once" hooks_of_the_quick;
          case "a hook for the time that a function takes" while_it_runs;
          case "a hook that is taken back as its task is cancelled" races_its_removal;
        ] );
    ]
