(* Channels: every sentence of the interface but those about [select] (test_select) and
   cancellation (test_chan_cancel). *)

open Harness
open Muster

let sizes = [ 1; 2; 3; 8 ]
let on_all f () = List.iter (fun domains -> run_on domains f) sizes
let check_list what expected actual = check_equal what expected (List.map Fun.id actual)
let check_closed what f = check_raises what Chan.Closed f

(* [Some n]: bounded. *)
let make = function Some n -> Chan.bounded n | None -> Chan.unbounded ()
let kinds = [ Some 0; Some 1; Some 2; Some 7; None ]
let drain c = List.of_seq (Chan.to_seq c)

(* On a pool of one worker: the task runs until it waits, then [waiting] returns. *)
let waiting f =
  let begun = Chan.unbounded () in
  let t = Task.async (fun () -> Chan.send begun (); f ()) in
  Chan.recv begun;
  t

(* {2 Bounds} *)

let capacities () =
  List.iter
    (fun n ->
      let c = Chan.bounded n in
      for i = 1 to n do check_bool "has room" true (Chan.try_send c i) done;
      check_bool "is full" false (Chan.try_send c 0);
      check_int "length" n (Chan.length c);
      check_equal "oldest" (if n = 0 then None else Some 1) (Chan.try_recv c);
      check_bool "has room again" (n > 0) (Chan.try_send c 0))
    [ 0; 1; 2; 3; 100 ]

let bad_capacity () =
  check_invalid ~mentions:[ "Muster.Chan.bounded"; "capacity = -1" ] "-1" (fun () ->
      Chan.bounded (-1))

let unbounded () =
  let n = 100_000 in
  run_on 1 (fun () ->
      let c = Chan.unbounded () in
      for i = 1 to n do Chan.send c i done;
      check_int "length" n (Chan.length c);
      Chan.close c;
      check_equal "all, in order" (List.init n succ) (drain c))

(* The send returns after the receive began, and [try_send] needs a receiver that waits. *)
let rendezvous () =
  run_on 1 (fun () ->
      let c = Chan.bounded 0 and returned = ref false in
      let sender = waiting (fun () -> Chan.send c 1; returned := true) in
      check_bool "waits" false !returned;
      check_int "not in the buffer" 0 (Chan.length c);
      check_int "received" 1 (Chan.recv c);
      Task.await sender;
      check_bool "returned" true !returned;
      let receiver = waiting (fun () -> Chan.recv c) in
      check_bool "to the receiver" true (Chan.try_send c 2);
      check_bool "to nobody" false (Chan.try_send c 3);
      check_int "received" 2 (Task.await receiver))

let try_recv () =
  let c = Chan.bounded 1 in
  check_equal "empty" None (Chan.try_recv c);
  check_bool "sent" true (Chan.try_send c 5);
  check_equal "one" (Some 5) (Chan.try_recv c);
  run_on 1 (fun () ->
      let c = Chan.bounded 0 in
      let sender = waiting (fun () -> Chan.send c 6) in
      check_equal "from a sender that waits" (Some 6) (Chan.try_recv c);
      Task.await sender)

let full_waits () =
  run_on 1 (fun () ->
      let c = Chan.bounded 2 in
      Chan.send c 1;
      Chan.send c 2;
      let third = waiting (fun () -> Chan.send c 3) in
      check_int "length" 2 (Chan.length c);
      check_bool "no overtaking" false (Chan.try_send c 4);
      check_int "oldest" 1 (Chan.recv c);
      check_int "the third has moved up" 2 (Chan.length c);
      Task.await third;
      Chan.close c;
      check_list "rest" [ 2; 3 ] (drain c))

(* {2 Order} *)

(* Those who wait were begun one after the other. *)
let served_in_order () =
  run_on 1 (fun () ->
      let c = Chan.bounded 0 in
      let receivers = List.init 20 (fun _ -> waiting (fun () -> Chan.recv c)) in
      for i = 0 to 19 do Chan.send c i done;
      check_list "receivers" (List.init 20 Fun.id) (List.map Task.await receivers);
      let c = Chan.bounded 3 in
      for i = 0 to 2 do Chan.send c i done;
      let senders = List.init 20 (fun i -> waiting (fun () -> Chan.send c (i + 3))) in
      check_list "senders" (List.init 23 Fun.id) (List.init 23 (fun _ -> Chan.recv c));
      List.iter Task.await senders)

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
  let send s () = for i = 1 to messages do Chan.send c (s, i) done in
  let receive got () = Chan.iter (fun m -> got := m :: !got) c in
  let gots = List.init receivers (fun _ -> ref []) in
  let numbers = List.init senders Fun.id in
  let receiving = List.map (fun got -> start (receive got)) gots in
  List.iter (fun join -> join ()) (List.map (fun s -> start (send s)) numbers);
  Chan.close c;
  List.iter (fun join -> join ()) receiving;
  List.iter (fun got -> check_in_order (List.rev !got)) gots;
  check_each_once ~senders:numbers ~messages (List.concat_map ( ! ) gots)

let as_task f =
  let t = Task.async f in
  fun () -> Task.await t

let as_domain f =
  let d = Domain.spawn (fun () -> outcome f) in
  fun () -> Result.iter_error raise (Domain.join d)

let as_thread f =
  let result = ref (Ok ()) in
  let t = Thread.create (fun () -> result := outcome f) () in
  fun () -> Thread.join t; Result.iter_error raise !result

let traffic_of_tasks () =
  let check kind (senders, receivers) =
    traffic ~start:as_task ~senders ~receivers ~messages:300 kind
  in
  on_all
    (fun () -> List.iter (fun kind -> List.iter (check kind) [ (1, 1); (4, 1); (1, 4); (4, 4) ]) kinds)
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
        for i = 1 to messages do Chan.send first i done;
        Chan.close first)
  in
  check_equal "received" (List.init messages (fun i -> i + 1 + stages)) (drain last);
  Task.await feeder

let thousand_stages () =
  with_domains 1 (fun pool ->
      check_int "workers" 1 (Pool.size pool);
      Pool.run pool (fun () -> List.iter (pipeline ~stages:1000 ~messages:20) kinds);
      check_int "workers still" 1 (Pool.stats pool).workers)

let stages_on_all () =
  on_all (fun () -> List.iter (pipeline ~stages:100 ~messages:20) kinds) ()

let worker_is_free () =
  run_on 1 (fun () ->
      let c = Chan.bounded 0 in
      let waiters = List.init 1000 (fun _ -> Task.async (fun () -> Chan.recv c)) in
      check_int "the worker does other things" 832_040 (fib 30);
      for i = 1 to 1000 do Chan.send c i done;
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
    as_thread (fun () -> for _ = 1 to 200 do Chan.send pong (Chan.recv ping + 1) done)
  in
  let rec round n x = if n = 0 then x else (Chan.send ping x; round (n - 1) (Chan.recv pong)) in
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

(* {2 Close} *)

let close_drains () =
  let c = Chan.bounded 3 in
  Chan.send c 1;
  Chan.send c 2;
  check_bool "open" false (Chan.is_closed c);
  Chan.close c;
  check_bool "closed" true (Chan.is_closed c);
  check_closed "send" (fun () -> Chan.send c 3);
  check_closed "try_send" (fun () -> Chan.try_send c 3);
  check_int "first" 1 (Chan.recv c);
  Chan.close c;
  check_equal "second" (Some 2) (Chan.try_recv c);
  check_closed "recv" (fun () -> Chan.recv c);
  check_closed "try_recv" (fun () -> Chan.try_recv c);
  check_equal "recv_opt" None (Chan.recv_opt c);
  check_equal "iter" () (Chan.iter (fun _ -> failwith "a message") c)

let close_ends_senders kind () =
  run_on 1 (fun () ->
      let c = make (Some kind) in
      for i = 1 to kind do Chan.send c i done;
      let senders = List.init 10 (fun i -> waiting (fun () -> Chan.send c (100 + i))) in
      Chan.close c;
      List.iter (fun t -> check_closed "send" (fun () -> Task.await t)) senders;
      check_list "only what was sent" (List.init kind succ) (drain c))

let close_ends_receivers () =
  run_on 1 (fun () ->
      let c = Chan.bounded 2 in
      let raises = List.init 10 (fun _ -> waiting (fun () -> Chan.recv c)) in
      let nones = List.init 10 (fun _ -> waiting (fun () -> Chan.recv_opt c)) in
      let iter = waiting (fun () -> Chan.iter (fun () -> failwith "a message") c) in
      Chan.close c;
      List.iter (fun t -> check_closed "recv" (fun () -> Task.await t)) raises;
      List.iter (fun t -> check_equal "recv_opt" None (Task.await t)) nones;
      Task.await iter)

(* Whatever was sent before the close is received; who was too late got an exception. *)
let close_in_the_midst () =
  on_all
    (fun () ->
      for round = 1 to 60 do
        let c = make (List.nth kinds (round mod 5)) and sent = Atomic.make 0 in
        let send () =
          try for _ = 1 to 5000 do Chan.send c (); Atomic.incr sent done
          with Chan.Closed -> ()
        in
        let received = Atomic.make 0 and enough = Chan.unbounded () in
        let count () = if Atomic.fetch_and_add received 1 = 20 then Chan.send enough () in
        let receive () = Chan.iter count c in
        let parties = List.map Task.async [ send; receive; send; receive ] in
        let closer = Task.async (fun () -> Chan.recv enough; Chan.close c) in
        List.iter Task.await (closer :: parties);
        check_int "received" (Atomic.get sent) (Atomic.get received)
      done)
    ()

let close_wakes_blocked () =
  let c = Chan.bounded 0 in
  let join = as_domain (fun () -> check_closed "recv" (fun () -> Chan.recv c)) in
  let join' = as_thread (fun () -> check_equal "recv_opt" None (Chan.recv_opt c)) in
  Unix.sleepf 0.02;
  Chan.close c;
  join ();
  join' ()

(* {2 Many} *)

let iter_raises () =
  let c = Chan.unbounded () in
  for i = 1 to 5 do Chan.send c i done;
  let f i = if i = 3 then raise Exit in
  check_raises "iter" Exit (fun () -> Chan.iter f c);
  Chan.close c;
  check_list "rest" [ 4; 5 ] (drain c)

(* Random pushes and pops, against Queue. *)
let backlog () =
  let module Backlog = Muster_sync.Backlog in
  let queue = Queue.create () in
  let state = Random.State.make [| 7 |] in
  let step backlog i =
    (* Long rows of either, so that queues get long. *)
    if Random.State.int state 100 < (if i / 5000 mod 2 = 0 then 70 else 30) then begin
      Queue.push i queue;
      Backlog.push backlog i
    end
    else
      match Backlog.pop backlog with
      | Empty -> check_equal "both empty" None (Queue.take_opt queue); backlog
      | Oldest (x, rest) -> check_equal "oldest" (Some x) (Queue.take_opt queue); rest
  in
  let rec run backlog i = if i = 50_000 then backlog else run (step backlog i) (i + 1) in
  let rest = run Backlog.empty 0 in
  check_list "rest" (List.of_seq (Queue.to_seq queue)) (Backlog.to_list rest)

let case name f = case ~seconds:60 name f

let () =
  Alcotest.run "chan"
    [
      ( "bounds",
        [
          case "n messages and no more" capacities;
          case "a negative bound" bad_capacity;
          case "no bound" unbounded;
          case "rendezvous" rendezvous;
          case "try_recv" try_recv;
          case "a send to a full channel waits" full_waits;
        ] );
      ( "order",
        [
          case "who waits is served in order" served_in_order;
          case "tasks" traffic_of_tasks;
          case "domains" (traffic_outside as_domain ~messages:300);
          case "systhreads" (traffic_outside as_thread ~messages:100);
          case "tasks, domains and systhreads" traffic_of_all;
        ] );
      ( "suspends the task",
        [
          case "1,000 stages on one worker" thousand_stages;
          case "100 stages on 1 to 8 workers" stages_on_all;
          case "the worker does other things" worker_is_free;
        ] );
      ( "anywhere",
        [
          case "a blocked domain burns nothing" blocked_burns_nothing;
          case "systhreads of one domain" threads_of_one_domain;
          case "below a C callback" below_a_c_callback;
          case "under an effect handler" under_an_effect_handler;
        ] );
      ( "close",
        [
          case "receivers drain" close_drains;
          case "senders that wait, rendezvous" (close_ends_senders 0);
          case "senders that wait, bounded" (close_ends_senders 2);
          case "receivers that wait" close_ends_receivers;
          case "in the midst of it" close_in_the_midst;
          case "blocked threads" close_wakes_blocked;
        ] );
      ("many", [ case "iter raises" iter_raises; case "the buffer" backlog ]);
    ]
