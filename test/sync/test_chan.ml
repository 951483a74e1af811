(* Channels: bounds, the order in which waits are served, close. Every sentence of the interface is here, in
   test_chan_traffic, test_select or test_chan_cancel. *)

open Harness
open Chan_support

(* {2 Bounds} *)

let capacities () =
  List.iter
    (fun n ->
      let c = Chan.bounded n in
      for i = 1 to n do
        check_bool "has room" true (Chan.try_send c i)
      done;
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
      for i = 1 to n do
        Chan.send c i
      done;
      check_int "length" n (Chan.length c);
      Chan.close c;
      check_equal "all, in order" (List.init n succ) (drain c))

(* The send returns after the receive began, and [try_send] needs a receiver that waits. *)
let rendezvous () =
  run_on 1 (fun () ->
      let c = Chan.bounded 0 and returned = ref false in
      let sender =
        waiting (fun () ->
            Chan.send c 1;
            returned := true)
      in
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
      for i = 0 to 19 do
        Chan.send c i
      done;
      check_list "receivers" (List.init 20 Fun.id) (List.map Task.await receivers);
      let c = Chan.bounded 3 in
      for i = 0 to 2 do
        Chan.send c i
      done;
      let senders = List.init 20 (fun i -> waiting (fun () -> Chan.send c (i + 3))) in
      check_list "senders" (List.init 23 Fun.id) (List.init 23 (fun _ -> Chan.recv c));
      List.iter Task.await senders)

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
      for i = 1 to kind do
        Chan.send c i
      done;
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
          try
            for _ = 1 to 5000 do
              Chan.send c ();
              Atomic.incr sent
            done
          with Chan.Closed -> ()
        in
        let received = Atomic.make 0 and enough = Chan.unbounded () in
        let count () = if Atomic.fetch_and_add received 1 = 20 then Chan.send enough () in
        let receive () = Chan.iter count c in
        let parties = List.map Task.async [ send; receive; send; receive ] in
        let closer =
          Task.async (fun () ->
              Chan.recv enough;
              Chan.close c)
        in
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
  for i = 1 to 5 do
    Chan.send c i
  done;
  let f i = if i = 3 then raise Exit in
  check_raises "iter" Exit (fun () -> Chan.iter f c);
  Chan.close c;
  check_list "rest" [ 4; 5 ] (drain c)

(* Random pushes and pops, against Queue. *)
let backlog () =
  let module Fifo = Muster__.Fifo in
  let queue = Queue.create () in
  let state = Random.State.make [| 7 |] in
  let step fifo i =
    (* Long rows of either, so that queues get long. *)
    if Random.State.int state 100 < if i / 5000 mod 2 = 0 then 70 else 30 then begin
      Queue.push i queue;
      Fifo.push fifo i
    end
    else
      match Fifo.pop fifo with
      | Empty ->
        check_equal "both empty" None (Queue.take_opt queue);
        fifo
      | Oldest (x, rest) ->
        check_equal "oldest" (Some x) (Queue.take_opt queue);
        rest
  in
  let rec run fifo i =
    check_int "length" (Queue.length queue) (Fifo.length fifo);
    if i = 50_000 then fifo else run (step fifo i) (i + 1)
  in
  let rest = run Fifo.empty 0 in
  check_list "rest" (List.of_seq (Queue.to_seq queue)) (Fifo.to_list rest)

let case name f = case ~seconds:60 name f

let () =
  Alcotest.run "chan"
    [
      ( "bounds",
        [
          case "a channel holds n messages and no more" capacities;
          case "a negative bound is refused" bad_capacity;
          case "an unbounded channel" unbounded;
          case "a send of a rendezvous waits for its receiver" rendezvous;
          case "try_recv takes a message or gives None" try_recv;
          case "a send to a full channel waits" full_waits;
        ] );
      ("order", [ case "waiters are served in the order of their arrival" served_in_order ]);
      ( "close",
        [
          case "receivers get the messages sent before the close" close_drains;
          case "close ends waiting senders, rendezvous" (close_ends_senders 0);
          case "close ends waiting senders, bounded" (close_ends_senders 2);
          case "close ends waiting receivers" close_ends_receivers;
          case "close in the midst of traffic" close_in_the_midst;
          case "close wakes blocked threads" close_wakes_blocked;
        ] );
      ("many", [ case "iter raises and leaves the later messages"
        iter_raises; case "the queue of messages against Stdlib.Queue" backlog ]);
    ]
