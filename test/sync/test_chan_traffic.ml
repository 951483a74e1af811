(* Channels in use: many messages between tasks, systhreads and domains, pipelines, and waiting in
   all places. *)

open Harness
open Chan_support

(* Each message is (sender, number). Of each sender, what a receiver gets counts upwards. *)
let check_in_order messages =
  let last = Hashtbl.create 8 in
  List.iter
    (fun (sender, number) ->
      let before = Option.value ~default:0 (Hashtbl.find_opt last sender) in
      if number <= before then failf "sender %d: %d after %d" sender number before;
      Hashtbl.replace last sender number)
    messages

let check_each_once ~senders ~messages received =
  let all = List.concat_map (fun s -> List.init messages (fun i -> (s, i + 1))) senders in
  check_equal "each once" (List.sort compare all) (List.sort compare received)

(* [start] runs a party, and gives a function that waits for its end. *)
let traffic ~start ~senders ~receivers ~messages kind =
  let c = make kind in
  let send s () =
    for i = 1 to messages do
      Chan.send c (s, i)
    done
  in
  let receive got () = Chan.iter (fun m -> got := m :: !got) c in
  let gots = List.init receivers (fun _ -> ref []) in
  let numbers = List.init senders Fun.id in
  let receiving = List.map (fun got -> start (receive got)) gots in
  List.iter (fun join -> join ()) (List.map (fun s -> start (send s)) numbers);
  Chan.close c;
  List.iter (fun join -> join ()) receiving;
  List.iter (fun got -> check_in_order (List.rev !got)) gots;
  check_each_once ~senders:numbers ~messages (List.concat_map ( ! ) gots)

let traffic_of_tasks () =
  let check kind (senders, receivers) =
    traffic ~start:as_task ~senders ~receivers ~messages:300 kind
  in
  on_all
    (fun () ->
      List.iter (fun kind -> List.iter (check kind) [ (1, 1); (4, 1); (1, 4); (4, 4) ]) kinds)
    ()

let traffic_outside start ~messages () =
  List.iter (traffic ~start ~senders:2 ~receivers:2 ~messages) kinds

(* Tasks, threads and domains at one channel. *)
let traffic_of_all () =
  run_on 2 (fun () ->
      let turn = Atomic.make 0 in
      let start f =
        match Atomic.fetch_and_add turn 1 mod 3 with
        | 0 -> as_task f
        | 1 -> as_domain f
        | _ -> as_thread f
      in
      List.iter (traffic ~start ~senders:3 ~receivers:3 ~messages:100) kinds)

(* A receiver with a long backlog gets on while a sender never pauses; one that had to turn round the
   whole backlog would lose every race. *)
let backlog_starves_nobody () =
  let attempt () =
    let c = Chan.unbounded () and received = Atomic.make 0 in
    for i = 1 to 200_000 do
      Chan.send c i
    done;
    let rec send n =
      if n > 0 && Atomic.get received < 100 then (
        Chan.send c n;
        send (n - 1))
    in
    let join = as_domain (fun () -> send 2_000_000) in
    while Atomic.get received < 100 do
      ignore (Chan.recv c);
      Atomic.incr received
    done;
    let was_first = Chan.length c < 2_190_000 in
    join ();
    was_first
  in
  (* The machine may have stopped the receiver meanwhile. *)
  let rec attempts n = n > 0 && (attempt () || attempts (n - 1)) in
  check_bool "received before the sender had ended" true (attempts 10)

(* Two tasks on each worker that answer each other's messages until all others have had their turn:
   those that were suspended before, those that were queued, and what comes from outside. *)
let dialogue there back ~until =
  while not (until ()) do
    Chan.send there ();
    Chan.recv back
  done

let answered capacity f =
  let there = Chan.bounded capacity and back = Chan.bounded capacity in
  let answerer = waiting (fun () -> Chan.iter (Chan.send back) there) in
  f there back;
  Chan.close there;
  Task.await answerer

let dialogues_starve_nobody capacity domains =
  with_domains domains (fun pool ->
      let others = 20 in
      let had = Atomic.make 0 in
      let had_turn () = Atomic.incr had in
      let until () = Atomic.get had = (2 * others) + 1 in
      Pool.run pool (fun () ->
          let elsewhere =
            let talk () = answered capacity (dialogue ~until) in
            List.init (domains - 1) (fun _ -> waiting talk)
          in
          answered capacity (fun there back ->
              let gate = Muster.Latch.create 1 in
              let wait () =
                Muster.Latch.await gate;
                had_turn ()
              in
              let waiting = List.init others (fun _ -> waiting wait) in
              Muster.Latch.count_down gate;
              let queued = List.init others (fun _ -> Task.async had_turn) in
              let from_outside =
                as_domain (fun () -> Pool.run pool (fun () -> Task.await (Task.async had_turn)))
              in
              dialogue there back ~until;
              from_outside ();
              List.iter Task.await (elsewhere @ waiting @ queued))))

let dialogues () =
  let with_capacity capacity = List.iter (dialogues_starve_nobody capacity) Sync_support.pools in
  List.iter with_capacity [ 0; 1; 5 ]

(* The tasks of a caller that waits for a flag lie in its own deque; all others have such a dialogue. *)
let dialogues_starve_no_caller domains =
  with_domains domains @@ fun pool ->
  Pool.run pool @@ fun () ->
  let over = Atomic.make false in
  let until () = Atomic.get over in
  let talk () = answered 1 (dialogue ~until) in
  let elsewhere = List.init (domains - 1) (fun _ -> waiting talk) in
  Unix.sleepf 0.02;
  let begun = Atomic.make false in
  let task = Task.async (fun () -> Atomic.set begun true) in
  wait_until (fun () -> Atomic.get begun);
  Atomic.set over true;
  List.iter Task.await (task :: elsewhere)

(* {2 Suspends the task, not the domain} *)

let pipeline ~stages ~messages kind =
  let first = make kind in
  let stage input =
    let output = make kind in
    let run () =
      Chan.iter (fun x -> Chan.send output (x + 1)) input;
      Chan.close output
    in
    ignore (Task.async run);
    output
  in
  let rec build input = function 0 -> input | n -> build (stage input) (n - 1) in
  let last = build first stages in
  let feeder =
    Task.async (fun () ->
        for i = 1 to messages do
          Chan.send first i
        done;
        Chan.close first)
  in
  check_equal "received" (List.init messages (fun i -> i + 1 + stages)) (drain last);
  Task.await feeder

let thousand_stages () =
  with_domains 1 (fun pool ->
      check_int "workers" 1 (Pool.size pool);
      Pool.run pool (fun () -> List.iter (pipeline ~stages:1000 ~messages:20) kinds);
      check_int "workers still" 1 (Pool.stats pool).workers)

let stages_on_all () = on_all (fun () -> List.iter (pipeline ~stages:100 ~messages:20) kinds) ()

let worker_is_free () =
  run_on 1 (fun () ->
      let c = Chan.bounded 0 in
      let waiters = List.init 1000 (fun _ -> Task.async (fun () -> Chan.recv c)) in
      check_int "the worker does other things" 832_040 (fib 30);
      for i = 1 to 1000 do
        Chan.send c i
      done;
      check_int "sum" 500_500 (List.fold_left (fun sum t -> sum + Task.await t) 0 waiters))

(* {2 Anywhere} *)

let blocked_burns_nothing () =
  let c = Chan.bounded 0 in
  let (), cpu =
    cpu_seconds (fun () ->
        let join = as_domain (fun () -> check_int "got" 1 (Chan.recv c)) in
        Unix.sleepf 0.4;
        Chan.send c 1;
        join ())
  in
  if cpu > 0.2 then failf "a domain blocked for 0.4 s took %.2f s of CPU time" cpu

let threads_of_one_domain () =
  let ping = Chan.bounded 0 and pong = Chan.bounded 0 in
  let join =
    as_thread (fun () ->
        for _ = 1 to 200 do
          Chan.send pong (Chan.recv ping + 1)
        done)
  in
  let rec round n x =
    if n = 0 then x
    else (
      Chan.send ping x;
      round (n - 1) (Chan.recv pong))
  in
  check_int "rounds" 200 (round 200 0);
  join ()

let below_a_c_callback () =
  run_on 2 (fun () ->
      let c = Chan.bounded 0 in
      let t = Task.async (fun () -> call_through_c (fun () -> Chan.recv c)) in
      let u = Task.async (fun () -> call_through_c (fun () -> Chan.send c 7)) in
      Task.await u;
      check_int "got" 7 (Task.await t))

let under_an_effect_handler () =
  run_on 1 (fun () ->
      let c = Chan.bounded 0 in
      let t = Task.async (fun () -> Chan.send c 8) in
      let got =
        Effect.Deep.match_with
          (fun () -> Chan.recv c)
          ()
          { retc = Fun.id; exnc = raise; effc = (fun _ -> None) }
      in
      check_int "got" 8 got;
      Task.await t)

let case name f = case ~seconds:60 name f

let () =
  Alcotest.run "traffic in channels"
    [
      ( "order",
        [
          case "messages between tasks keep their order" traffic_of_tasks;
          case "messages between domains keep their order"
            (traffic_outside as_domain ~messages:300);
          case "messages between systhreads keep their order"
            (traffic_outside as_thread ~messages:100);
          case "messages between tasks, domains and systhreads keep their order" traffic_of_all;
          case "a long backlog starves no receiver" backlog_starves_nobody;
          case "dialogues starve no other task" dialogues;
          case "dialogues starve no caller" (fun () ->
              List.iter dialogues_starve_no_caller [ 2; 3; 8 ]);
        ] );
      ( "suspends the task",
        [
          case "1,000 stages on one worker" thousand_stages;
          case "100 stages on 1 to 8 workers" stages_on_all;
          case "a worker runs other tasks while one waits" worker_is_free;
        ] );
      ( "anywhere",
        [
          case "a blocked domain burns nothing" blocked_burns_nothing;
          case "systhreads of one domain exchange messages" threads_of_one_domain;
          case "messages below a C callback" below_a_c_callback;
          case "messages under an effect handler" under_an_effect_handler;
        ] );
    ]
