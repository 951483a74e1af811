(* Domainslib's channels. *)

open Domainslib
open Harness
open Pools

let refuses_negative_sizes () =
  check_raises "size" (Invalid_argument "Chan.make_bounded") (fun () -> Chan.make_bounded (-1))

(* Polls against a queue. *)

type step = Send of int | Receive

let step =
  let open QCheck.Gen in
  oneof [ map (fun i -> Send i) (int_range 0 99); return Receive ]

let show = function Send i -> Printf.sprintf "send %d" i | Receive -> "receive"
let any_steps = QCheck.(make ~print:Print.(list show) Gen.(list_size (int_range 0 60) step))

let agrees_with_a_queue ~limit make steps =
  let channel = make () and queue = Queue.create () in
  let agrees = function
    | Send i ->
      let room = Queue.length queue < limit in
      if room then Queue.add i queue;
      Chan.send_poll channel i = room
    | Receive -> Chan.recv_poll channel = Queue.take_opt queue
  in
  List.for_all agrees steps

let polls name ~limit make =
  QCheck_alcotest.to_alcotest
    (QCheck.Test.make ~count:300 ~name any_steps (agrees_with_a_queue ~limit make))

(* {2 Many senders and receivers} *)

let messages = 400

(* Each of [senders] sends the numbers that are its index modulo their number. *)
let through channel ~spawn ~join ~senders ~receivers =
  let sum = Atomic.make 0 in
  let sender i () =
    for k = 0 to (messages / senders) - 1 do
      Chan.send channel ((k * senders) + i)
    done
  in
  let receiver () =
    for _ = 1 to messages / receivers do
      ignore (Atomic.fetch_and_add sum (Chan.recv channel))
    done
  in
  let parties = List.init senders (fun i -> spawn (sender i)) in
  let parties = parties @ List.init receivers (fun _ -> spawn receiver) in
  List.iter join parties;
  check_int "sum" (messages * (messages - 1) / 2) (Atomic.get sum);
  check_equal "nothing is left" None (Chan.recv_poll channel)

let makes =
  [
    ("rendezvous", fun () -> Chan.make_bounded 0);
    ("one place", fun () -> Chan.make_bounded 1);
    ("eight places", fun () -> Chan.make_bounded 8);
    ("unbounded", Chan.make_unbounded);
  ]

let counts = [ (1, 1); (4, 1); (1, 4); (4, 4) ]

let for_all_counts f make () =
  List.iter (fun (senders, receivers) -> f (make ()) ~senders ~receivers) counts

let between_tasks channel ~senders ~receivers =
  List.iter
    (fun num_domains ->
      with_pool num_domains (fun pool ->
          Task.run pool (fun () ->
              through channel ~spawn:(Task.async pool) ~join:(Task.await pool) ~senders ~receivers)))
    [ 0; 1; 3 ]

let between_domains channel ~senders ~receivers =
  let senders = min senders 2 and receivers = min receivers 2 in
  through channel ~spawn:Domain.spawn ~join:Domain.join ~senders ~receivers

let between_threads channel ~senders ~receivers =
  let spawn f = Thread.create f () in
  through channel ~spawn ~join:Thread.join ~senders ~receivers

(* A task that receives leaves its worker to the others, in a pool of one, too. *)
let a_waiting_task_keeps_no_worker num_domains () =
  with_pool num_domains @@ fun pool ->
  let ping = Chan.make_bounded 1 and pong = Chan.make_bounded 1 in
  let echo () =
    for _ = 1 to 100 do
      Chan.send pong (Chan.recv ping)
    done
  in
  Task.run pool (fun () ->
      let tasks = List.init 5 (fun _ -> Task.async pool echo) in
      for i = 1 to 500 do
        Chan.send ping i;
        ignore (Chan.recv pong)
      done;
      List.iter (Task.await pool) tasks)

let order_is_kept () =
  let channel = Chan.make_bounded 2 in
  let sender =
    Domain.spawn (fun () ->
        for i = 1 to 1000 do
          Chan.send channel i
        done)
  in
  for i = 1 to 1000 do
    check_int "next" i (Chan.recv channel)
  done;
  Domain.join sender

(* A rendezvous ends no send before its message has been received. *)
let a_rendezvous_waits () =
  let channel = Chan.make_bounded 0 and sent = Atomic.make false in
  check_bool "nobody receives" false (Chan.send_poll channel 1);
  let sender =
    Domain.spawn (fun () ->
        Chan.send channel 2;
        Atomic.set sent true)
  in
  Unix.sleepf 0.05;
  check_bool "sent" false (Atomic.get sent);
  check_int "message" 2 (Chan.recv channel);
  Domain.join sender;
  let receiver = Domain.spawn (fun () -> Chan.recv channel) in
  wait_until (fun () -> Chan.send_poll channel 3);
  check_int "polled to a receiver" 3 (Domain.join receiver);
  let sender = Domain.spawn (fun () -> Chan.send channel 4) in
  let got = ref None in
  wait_until (fun () ->
      got := Chan.recv_poll channel;
      !got <> None);
  Domain.join sender;
  check_equal "polled from a sender" (Some 4) !got

let waiting_burns_nothing () =
  let channel = Chan.make_bounded 0 in
  with_pool 1 @@ fun pool ->
  Waiting.burns_nothing "recv" (fun () ->
      let late =
        Domain.spawn (fun () ->
            Unix.sleepf 2.;
            Chan.send channel ())
      in
      Task.run pool (fun () -> Chan.recv channel);
      Domain.join late)

let each name f =
  List.map (fun (size, make) -> case (name ^ ", " ^ size) (for_all_counts f make)) makes

let () =
  Alcotest.run "Domainslib.Chan"
    [
      ( "polls",
        [
          case "negative sizes are refused" refuses_negative_sizes;
          polls "polling a channel of no places" ~limit:0 (fun () -> Chan.make_bounded 0);
          polls "polling a channel of one place" ~limit:1 (fun () -> Chan.make_bounded 1);
          polls "polling a channel of eight places" ~limit:8 (fun () -> Chan.make_bounded 8);
          polls "polling an unbounded channel" ~limit:max_int Chan.make_unbounded;
        ] );
      ( "many",
        each "many messages between tasks" between_tasks
        @ each "many messages between domains" between_domains
        @ each "many messages between threads" between_threads
      );
      ( "waiting",
        [
          case "a task that waits keeps no worker, pool of 1" (a_waiting_task_keeps_no_worker 0);
          case "a task that waits keeps no worker, pool of 2" (a_waiting_task_keeps_no_worker 1);
          case "messages keep their order" order_is_kept;
          case "a rendezvous waits" a_rendezvous_waits;
          case "waiting burns no CPU" waiting_burns_nothing;
        ] );
    ]
