(* Channels and selects. Messages are blocks that their senders wrote plainly. Each message is
   received once, though some are cancelled meanwhile. *)

module Chan = Muster.Chan
module Task = Muster.Task
open Rounds

let counters n = Array.init n (fun _ -> ref 0)
let sum = Array.fold_left (fun n r -> n + !r) 0

let message i =
  let message = ref 0 in
  message := i;
  message

(* [each] messages from two senders to two receivers. *)
let shared fresh n () =
  let chan = ref (fresh ()) and got = counters 2 and each = 3 in
  let before _ =
    chan := fresh ();
    Array.iter (fun r -> r := 0) got
  in
  let send _ =
    for i = 1 to each do
      Chan.send !chan (message i)
    done
  in
  let receive i _ =
    for _ = 1 to each do
      got.(i) := !(got.(i)) + !(Chan.recv !chan)
    done
  in
  let after _ = check "each once" (sum got = 2 * each * (each + 1) / 2) in
  race n ~before ~after [ send; send; receive 0; receive 1 ]

let bounded n () = Chan.bounded n

let polled () =
  let chan = Chan.bounded 1 and got = counters 2 in
  let send _ =
    for i = 1 to 3 do
      let it = message i in
      check "its length" (Chan.length chan <= 1);
      relax_until (fun () -> Chan.try_send chan it)
    done
  in
  let receive i _ =
    for _ = 1 to 3 do
      let it = ref None in
      relax_until (fun () ->
          it := Chan.try_recv chan;
          !it <> None);
      Option.iter (fun it -> got.(i) := !(got.(i)) + !it) !it
    done
  in
  race 2_000 [ send; send; receive 0; receive 1 ];
  check "each once" (sum got = 12 * times 2_000)

(* What is sent before the end is received, or its send raised. *)
let closed () =
  let chan = ref (Chan.bounded 1) and sent = counters 2 and got = counters 2 in
  let cells = [ sent; got ] in
  let before _ =
    chan := Chan.bounded 1;
    List.iter (Array.iter (fun r -> r := 0)) cells
  in
  let send i _ =
    try
      for k = 1 to 4 do
        Chan.send !chan (message k);
        sent.(i) := !(sent.(i)) + k
      done
    with Chan.Closed -> ()
  in
  let receive _ =
    for _ = 1 to 4 do
      Option.iter (fun it -> got.(0) := !(got.(0)) + !it) (Chan.recv_opt !chan)
    done;
    Chan.close !chan
  in
  let after _ =
    Chan.iter (fun it -> got.(1) := !(got.(1)) + !it) !chan;
    check "each once" (sum got = sum sent)
  in
  race 2_000 ~before ~after [ receive; send 0; send 1 ]

(* {2 Select} *)

(* A ring: each sends to the next and receives from the one before, in either order. *)
let ring () =
  let chans = Array.init 3 (fun _ -> Chan.bounded 0) in
  let party me _ =
    let next = chans.(me) and before = chans.((me + 2) mod 3) in
    let send = Chan.send_case next (message me) (fun () -> `Sent) in
    let receive = Chan.recv_case before (fun it -> `Received !it) in
    let is_last = function
      | `Sent -> `Received !(Chan.recv before)
      | `Received _ as received ->
        Chan.send next (message me);
        received
    in
    check "its neighbour's" (is_last (Chan.select [ send; receive ]) = `Received ((me + 2) mod 3))
  in
  race 2_000 (List.init 3 party)

(* Several receivers at several channels, of which messages come in any order. *)
let selects () =
  let chans = Array.init 2 (fun _ -> Chan.bounded 1) and got = counters 2 in
  let send i _ =
    for k = 1 to 2 do
      Chan.send chans.(i) (message k)
    done
  in
  let receive i _ =
    for _ = 1 to 2 do
      let case c = Chan.recv_case c (fun it -> !it) in
      got.(i) := !(got.(i)) + Chan.select [ case chans.(0); case chans.(1) ]
    done
  in
  race 2_000 [ send 0; send 1; receive 0; receive 1 ];
  check "each once" (sum got = 6 * times 2_000)

(* {2 Tasks} *)

let pipeline =
  in_task 2 100 (fun round ->
      let stages = Array.init 4 (fun i -> Chan.bounded (i land 1)) in
      let step i () =
        Chan.iter
          (fun it ->
            incr it;
            Chan.send stages.(i + 1) it)
          stages.(i);
        Chan.close stages.(i + 1)
      in
      let steps = List.init 3 (fun i -> Task.async (step i)) in
      let feed () =
        for i = 1 to 5 do
          Chan.send stages.(0) (message (round + i))
        done;
        Chan.close stages.(0)
      in
      let feeder = Task.async feed in
      let expected = ref (round + 4) in
      Chan.iter
        (fun it ->
          check "passed on" (!it = !expected);
          incr expected)
        stages.(3);
      List.iter Task.await (feeder :: steps);
      check "all" (!expected = round + 9))

(* Waits that are cancelled: what was sent is received, or still there. *)
let cancelled ~select capacity =
  in_task 2 400 (fun round ->
      let chan = Chan.bounded capacity and other = Chan.bounded 0 in
      let sent = ref 0 and got = ref 0 in
      let send () =
        for _ = 1 to 8 do
          let it = message 1 in
          if select then Chan.(select [ send_case chan it ignore; recv_case other ignore ])
          else Chan.send chan it;
          incr sent
        done
      in
      let receive () =
        for _ = 1 to 8 do
          let it =
            if select then Chan.(select [ recv_case chan Fun.id; recv_case other Fun.id ])
            else Chan.recv chan
          in
          got := !got + !it
        done
      in
      let sender = Task.async send and receiver = Task.async receive in
      loiter round;
      Task.cancel (if round land 1 = 0 then sender else receiver);
      Chan.close other;
      pauses 50;
      Task.cancel sender;
      Task.cancel receiver;
      let ended task = try Task.await task with Task.Cancelled | Chan.Closed -> () in
      List.iter ended [ sender; receiver ];
      let rec rest n = match Chan.try_recv chan with Some it -> rest (n + !it) | None -> n in
      check "each once" (rest !got = !sent))

let () =
  main
    [
      case "chan: rendezvous" (shared (bounded 0) 1_500);
      case "chan: bound of 1" (shared (bounded 1) 1_500);
      case "chan: bound of 2" (shared (bounded 2) 1_500);
      case "chan: unbounded" (shared Chan.unbounded 1_500);
      case "chan: polled" polled;
      case "chan: closed in use" closed;
      case "select: a ring" ring;
      case "select: two at two channels" selects;
      case "tasks: a pipeline" pipeline;
      case "tasks: cancelled, rendezvous" (cancelled ~select:false 0);
      case "tasks: cancelled, bound of 1" (cancelled ~select:false 1);
      case "tasks: cancelled selects" (cancelled ~select:true 1);
    ]
