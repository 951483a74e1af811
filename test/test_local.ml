(* Values that tasks inherit. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List
module Array = Stdlib.Array

let l = Task.local 0
let text = Task.local "none"
let get () = Task.get_local l
let check what expected = check_int what expected (get ())
let sees what expected f = check_int what expected (f ())

let nests () =
  check "the default" 0;
  let v =
    Task.with_local l 1 (fun () ->
        check "within" 1;
        Task.with_local text "some" (fun () ->
            check "beside another" 1;
            check_equal "another" "some" (Task.get_local text);
            Task.with_local l 2 (fun () -> check "the innermost" 2));
        check "afterwards" 1;
        check_equal "the other, afterwards" "none" (Task.get_local text);
        42)
  in
  check_int "the result" 42 v;
  check "at the end" 0

exception Failed_here

let origin_line = __LINE__ + 1
let raise_it () = raise Failed_here

let raises () =
  check_raises_with_origin ~file:"test_local.ml" ~line:origin_line "origin" (fun () ->
      Task.with_local l 1 raise_it);
  check "afterwards" 0

(* Each way to start something, where 1 is the value. *)
let starts =
  [
    ("async", fun () -> Task.await (Task.async get));
    ("a task's task", fun () -> Task.await (Task.async (fun () -> Task.await (Task.async get))));
    ("the left of both", fun () -> fst (both get ignore));
    ("the right of both", fun () -> snd (both ignore get));
    ("a scope", fun () -> Task.scope (fun _ -> get ()));
    ("fork", fun () -> Task.(scope (fun s -> await (fork s get))));
    ("a fork's fork", fun () ->
      Task.(scope (fun s -> await (fork s (fun () -> await (fork s get))))));
    ("all", fun () -> List.fold_left min 9 (Task.all [ get; get; get ]));
    ("first", fun () -> Task.first [ get; get ]);
    ("a deadline", fun () -> Task.with_deadline 100. get);
    ("protect", fun () -> Task.protect get);
    ("protect's task", fun () -> Task.protect (fun () -> Task.await (Task.async get)));
    ("blocking", fun () -> Task.blocking get);
    ("a blocking call's task", fun () -> Task.blocking (fun () -> Task.await (Task.async get)));
    ("a blocking call's fork", fun () -> Task.blocking (fun () -> snd (both ignore get)));
    ("lazy", fun () -> Lazy.force (Lazy.from_fun get));
    ("below C", fun () -> call_through_c get);
    ("a wait", fun () ->
      Task.sleep 0.001;
      get ());
    ("a loop", fun () ->
      let least = Atomic.make 1 in
      parallel_for ~start:1 ~finish:64 (fun _ ->
          burn 2e-5;
          if get () <> 1 then Atomic.set least (get ()));
      Atomic.get least);
    ("a collection", fun () ->
      let a = Muster.Parallel.Array.map (fun _ -> burn 2e-5; get ()) (Array.make 64 0) in
      Array.fold_left min 1 a);
    ("another pool", fun () -> with_domains 2 (fun pool -> Pool.run pool get));
    ("another pool's task", fun () ->
      with_domains 2 (fun pool -> Pool.run pool (fun () -> Task.await (Task.async get))));
    ("a team", fun () ->
      with_domains 2 (fun pool ->
          let least = Atomic.make 1 in
          Team.broadcast pool (fun _ -> if get () <> 1 then Atomic.set least (get ()));
          Atomic.get least));
    ("a team of the pool", fun () ->
      with_domains 2 (fun pool ->
          Pool.run pool (fun () ->
              let least = Atomic.make 1 in
              Team.for_n pool 64 (fun ~worker:_ _ -> if get () <> 1 then Atomic.set least (get ()));
              Atomic.get least)));
  ]

let inherited (name, start) () =
  everywhere
    (fun () ->
      Task.with_local l 1 (fun () ->
          for _ = 1 to 5 do
            sees name 1 start
          done);
      sees (name ^ ", without") 0 (fun () -> if get () = 0 then 0 else -1))
    ()

(* The task has the value of the code that starts it, wherever it runs. *)
let of_the_starter () =
  let go = Latch.create 1 in
  let waits () =
    Latch.await go;
    get ()
  in
  let t = Task.with_local l 1 (fun () -> Task.async waits) in
  Task.with_local l 2 (fun () ->
      Latch.count_down go;
      sees "the starter's" 1 (fun () -> Task.await t);
      check "the awaiter's" 2);
  let ready = Task.with_local l 3 (fun () -> Task.async get) in
  Task.with_local l 4 (fun () -> sees "the starter's, in place" 3 (fun () -> Task.await ready))

let of_the_forker () =
  Task.scope (fun s ->
      let t = Task.with_local l 1 (fun () -> Task.fork s get) in
      sees "the forker's" 1 (fun () -> Task.await t);
      sees "the scope's" 0 (fun () -> Task.await (Task.fork s get)));
  Task.with_local l 5 (fun () ->
      Task.scope (fun s ->
          let outside = Domain.spawn (fun () -> Task.await (Task.fork s get)) in
          sees "of a thread outside" 5 (fun () -> Domain.join outside)))

(* A task that changes its own changes nobody else's. *)
let each_its_own () =
  let task i () =
    Task.with_local l i (fun () ->
        Task.sleep 0.001;
        let inner = Task.await (Task.async get) in
        parallel_for ~start:1 ~finish:4 (fun _ -> check "in a loop" i);
        (get (), inner))
  in
  List.iteri
    (fun i (mine, inner) ->
      check_int "mine" i mine;
      check_int "its task's" i inner)
    (Task.all (List.init 50 task));
  check "the caller's" 0

(* Code that cleans up after a cancellation still has it, also once more outside. *)
let after_a_cancellation () =
  let seen = ref [] in
  let see () = seen := get () :: !seen in
  let cleans_up () =
    Task.with_local l 1 (fun () ->
        try
          Task.with_local l 2 (fun () ->
              Fun.protect
                ~finally:(fun () ->
                  see ();
                  seen := Task.await (Task.async get) :: !seen)
                (fun () -> Latch.await (Latch.create 1)))
        with Task.Cancelled ->
          see ();
          seen := Task.await (Task.async get) :: !seen)
  in
  (try Task.with_deadline 0.005 cleans_up with Task.Deadline_exceeded -> ());
  check_bool "all of them" true (List.rev !seen = [ 2; 2; 1; 1 ]);
  check "afterwards" 0

let fork_in_a_stopped_scope () =
  check_cancelled "stopped" (fun () ->
      Task.scope (fun s ->
          Task.with_local l 1 (fun () ->
              let t = Task.fork s (fun () -> Latch.await (Latch.create 1)) in
              Task.cancel_scope s;
              Task.await t)))

(* One value for each variable: nothing grows. *)
let deep () =
  let rec down n =
    if n = 0 then sees "the innermost" 1 (fun () -> Task.await (Task.async get))
    else Task.with_local l n (fun () -> down (n - 1))
  in
  let (), took = wall_seconds (fun () -> down 20_000) in
  check_bool "quickly" true (took < 5.)

let threads () =
  Task.with_local l 1 (fun () ->
      sees "another thread has its own" 0 (fun () -> Task.blocking (fun () -> in_thread (fun () -> 0)));
      ());
  let values = in_threads 8 (fun i -> Task.with_local l i (fun () -> Task.sleep 0.002; get ())) in
  List.iteri (check_int "each thread's") values

(* More threads than a pool has slots for: the others run in place. *)
let many_threads () =
  let inside = Atomic.make 0 and go = Atomic.make false in
  let body i =
    Task.with_local l i (fun () ->
        Atomic.incr inside;
        while not (Atomic.get go) do
          Thread.delay 0.002
        done;
        let own = get () and tasks = fst (both get ignore) in
        (own, tasks, Task.with_local text "x" (fun () -> (get (), Task.get_local text))))
  in
  let release =
    Thread.create
      (fun () ->
        wait_until (fun () -> Atomic.get inside = 150);
        Atomic.set go true)
      ()
  in
  let all = in_threads 150 body in
  Thread.join release;
  List.iteri
    (fun i ((own, inner, (again, text)) as got) ->
      if got <> (i, i, (i, "x")) then failf "thread %d has %d, %d, %d, %s" i own inner again text)
    all;
  check "nothing is left" 0

let hooks_have_none () =
  let seen = Atomic.make (-1) in
  check_cancelled "scope" (fun () ->
      Task.with_local l 1 (fun () ->
          Task.scope (fun s ->
              Task.on_cancel (fun () -> Atomic.set seen (get ()));
              Task.cancel_scope s;
              Task.check ())));
  check_int "the default" 0 (Atomic.get seen)

let () =
  Alcotest.run "locals"
    [
      ( "a value",
        [
          case "nests" (everywhere nests);
          case "an exception" (everywhere raises);
          case "of the starter" (everywhere of_the_starter);
          case "of the forker" (everywhere of_the_forker);
          case "of each task" (everywhere each_its_own);
          case "after a cancellation" (everywhere after_a_cancellation);
          case "in a stopped scope" (everywhere fork_in_a_stopped_scope);
          case "deep" (everywhere deep);
          case "threads" threads;
          case "many threads" many_threads;
          case "hooks" (fun () -> in_pool 2 hooks_have_none);
        ] );
      ("inherited by", List.map (fun (name, f) -> case name (inherited (name, f))) starts);
    ]
