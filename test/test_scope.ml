(* Task.scope and Task.fork: a scope ends with its tasks; the first failure cancels the rest. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List

let ends_last () =
  on_all
    (fun () ->
      let ended = Atomic.make 0 in
      let v =
        Task.scope (fun s ->
            for _ = 1 to 20 do
              ignore
                (Task.fork s (fun () ->
                     Unix.sleepf 0.0005;
                     ignore (Task.fork s (fun () -> Atomic.incr ended));
                     Atomic.incr ended))
            done;
            42)
      in
      check_int "value" 42 v;
      check_int "ended" 40 (Atomic.get ended))
    ()

(* As many as make the deque's ring grow, and then wide and narrow again. Tasks that wait, scopes
   within, and tasks that tasks fork: those of the code keep their order. *)
let begin_in_order () =
  let orders body =
    in_pool 1 (fun () ->
        let begun = ref [] in
        let fork s ?(f = ignore) i =
          Task.fork s (fun () ->
              begun := i :: !begun;
              f ())
        in
        Task.scope (body fork);
        List.rev !begun)
  in
  let check what n body = check_equal what (List.init n Fun.id) (List.filter (( <= ) 0) (orders body)) in
  let each n f s = for i = 0 to n - 1 do f s i done in
  check "empty" 1_000 (fun fork -> each 1_000 (fun s i -> ignore (fork s i)));
  let waits i () = if i mod 3 = 0 then Task.sleep 0.001 else Task.yield () in
  check "waiting" 50 (fun fork -> each 50 (fun s i -> ignore (fork s ~f:(waits i) i)));
  let scopes fork () = Task.scope (each 300 (fun s _ -> ignore (fork s (-1)))) in
  check "scopes" 20 (fun fork ->
      each 20 (fun s i -> ignore (fork s ~f:(fun () -> scopes (fun s i -> fork s i) ()) i)));
  check "forks of tasks" 200 (fun fork ->
      each 200 (fun s i ->
          ignore (fork s ~f:(fun () -> each 5 (fun s _ -> ignore (fork s (-1))) s) i)));
  let within fork s =
    Task.scope (each 5 (fun s i -> ignore (fork s i)));
    each 5 (fun s i -> ignore (fork s (i + 5))) s
  in
  check "one after the other" 10 (fun fork -> within (fun s i -> fork s i));
  let one_awaited = orders (fun fork s -> Task.await (List.nth (List.init 5 (fork s)) 2)) in
  check_equal "one awaited" [ 2; 0; 1; 3; 4 ] one_awaited

(* An awaiter beneath, whose own tasks lie deeper in the deque. *)
let begin_no_others () =
  in_pool 1 (fun () ->
      let begun = ref [] in
      let note i () = begun := i :: !begun in
      let outer = List.init 3 (fun i -> Task.async (note i)) in
      Task.scope (fun s -> List.iter (fun i -> ignore (Task.fork s (note i))) [ 3; 4; 5 ]);
      check_equal "the scope's alone" [ 5; 4; 3 ] !begun;
      List.iter Task.await outer)

let results () =
  on_all
    (fun () ->
      let sum =
        Task.scope (fun s ->
            let ts = List.init 10 (fun i -> Task.fork s (fun () -> i)) in
            List.fold_left (fun sum t -> sum + Task.await t) 0 ts)
      in
      check_int "sum" 45 sum)
    ()

let first_failure_cancels () =
  on_all
    (fun () ->
      let others = Atomic.make 0 and began = Atomic.make false in
      let other () =
        try endless began Task.check ()
        with Task.Cancelled as exn ->
          Atomic.incr others;
          raise exn
      in
      check_raises "scope" (Failed 1) (fun () ->
          Task.scope (fun s ->
              if Pool.size (Pool.default ()) > 1 then ignore (Task.fork s other);
              Task.await (Task.fork s (fun () -> raise (Failed 1))))))
    ()

let body_is_cancelled () =
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      check_raises "scope" (Failed 1) (fun () ->
          Task.scope (fun s ->
              ignore
                (Task.fork s (fun () ->
                     until began;
                     raise (Failed 1)));
              endless began Task.check ())))

let body_fails () =
  on_all
    (fun () ->
      let ran = Atomic.make 0 in
      check_raises "scope" (Failed 2) (fun () ->
          Task.scope (fun s ->
              for _ = 1 to 10 do
                ignore
                  (Task.fork s (fun () ->
                       Atomic.incr ran;
                       Task.check ()))
              done;
              raise (Failed 2)));
      check_bool "at most 10" true (Atomic.get ran <= 10))
    ()

let backtrace () =
  Printexc.record_backtrace true;
  let[@inline never] origin () = raise (Failed 3) in
  in_pool 2 (fun () ->
      match Task.scope (fun s -> ignore (Task.fork s (fun () -> origin ()))) with
      | () -> Alcotest.fail "no exception"
      | exception Failed 3 ->
        let trace = Printexc.get_backtrace () in
        check_bool "backtrace" true (contains trace ~sub:"test_scope.ml"))

let cancelled_task_is_no_failure () =
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      let v =
        Task.scope (fun s ->
            let t = Task.fork s (endless began Task.check) in
            until began;
            Task.cancel t;
            7)
      in
      check_int "value" 7 v)

let nested () =
  in_pool 2 (fun () ->
      let inner = Atomic.make false and began = Atomic.make false in
      let work () =
        Fun.protect ~finally:(fun () -> Atomic.set inner true) (endless began Task.check)
      in
      let t = Task.async (fun () -> Task.scope (fun s -> Task.await (Task.fork s work))) in
      until began;
      Task.cancel t;
      check_cancelled "await" (fun () -> Task.await t);
      check_bool "inner task ended" true (Atomic.get inner))

let asyncs_within () =
  in_pool 3 (fun () ->
      let began = Atomic.make false and ended = Atomic.make false in
      check_raises "scope" Exit (fun () ->
          Task.scope (fun _ ->
              let work () =
                Fun.protect ~finally:(fun () -> Atomic.set ended true) (endless began Task.check)
              in
              ignore (Task.async work);
              until began;
              raise Exit));
      until ended)

let cancel_many () =
  let ran = Atomic.make 0 and since = ref 0. in
  check_raises "scope" Exit (fun () ->
      Task.scope (fun s ->
          for _ = 1 to 100_000 do
            ignore (Task.fork s (fun () -> Atomic.incr ran))
          done;
          since := Unix.gettimeofday ();
          raise Exit));
  let ms = 1000. *. (Unix.gettimeofday () -. !since) in
  check_int "ran" 0 (Atomic.get ran);
  ms

(* A busy machine may delay some of the tries. *)
let many_queued () =
  in_pool 1 (fun () ->
      let rec quick tries =
        let ms = cancel_many () in
        if ms >= 50. then if tries > 1 then quick (tries - 1) else failf "took %.1f ms" ms
      in
      quick 10)

let fork_after_the_end () =
  in_pool 1 (fun () ->
      let escaped = Task.scope Fun.id in
      check_invalid ~mentions:[ "Muster.Task.fork"; "ended" ] "fork" (fun () ->
          ignore (Task.fork escaped ignore)))

(* None of two that come at the same time is let in by the other. *)
let forks_after_the_end () =
  in_pool 1 (fun () ->
      let escaped = Task.scope Fun.id in
      let rec refused n =
        n = 0
        ||
        match Task.fork escaped ignore with
        | _ -> false
        | exception Invalid_argument _ -> refused (n - 1)
      in
      let other = Domain.spawn (fun () -> refused 100_000) in
      let mine = refused 100_000 in
      check_bool "refused" true (Domain.join other && mine))

let cancel_scope () =
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      check_cancelled "scope" (fun () ->
          Task.scope (fun s ->
              let t = Task.fork s (endless began Task.check) in
              until began;
              Task.cancel_scope s;
              Task.await t)))

let from_anywhere () =
  check_int "outside every pool" 3 (Task.scope (fun s -> Task.await (Task.fork s (fun () -> 3))));
  let in_thread = ref 0 in
  let th =
    Thread.create
      (fun () -> in_thread := Task.scope (fun s -> Task.await (Task.fork s (fun () -> 4))))
      ()
  in
  Thread.join th;
  check_int "in a systhread" 4 !in_thread;
  let d = Domain.spawn (fun () -> Task.scope (fun s -> Task.await (Task.fork s (fun () -> 5)))) in
  check_int "in another domain" 5 (Domain.join d)

let () =
  Alcotest.run "scope"
    [
      ( "scope",
        [
          case "a scope ends after its tasks" ends_last;
          case "its tasks begin in their order on one worker" begin_in_order;
          case "no task from outside begins instead" begin_no_others;
          case "a scope returns its function's result" results;
          case "the first failure of a task cancels the other tasks" first_failure_cancels;
          case "the failure of a task cancels the scope's code" body_is_cancelled;
          case "the failure of the scope's code cancels the tasks" body_fails;
          case "a failure keeps its backtrace" backtrace;
          case "a cancelled task is no failure of its scope" cancelled_task_is_no_failure;
          case "a cancelled scope cancels the scopes within it" nested;
          case "a cancelled scope cancels tasks of async within it" asyncs_within;
          case "a scope of 100,000 queued tasks is cancelled" many_queued;
          case "a fork after the scope's end is refused" fork_after_the_end;
          case "forks at the moment of the scope's end run or are refused" forks_after_the_end;
          case "cancel_scope cancels code and tasks" cancel_scope;
          case "any domain or thread may fork into a scope" from_anywhere;
        ] );
    ]
