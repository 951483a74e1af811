(* Channels: what each of their statements about order says is visible. As in test_litmus.ml, the
   accesses in question are plain, and message passing (MP) and store buffering (SB) mean the same. *)

module Chan = Muster.Chan
module Task = Muster.Task
open Rounds

let data = ref 0
and back = ref 0

(* {2 From a send to its receive} *)

let mp ~fresh ~send ~receive n () =
  let chan = fresh () in
  let tell round =
    data := round;
    send chan
  in
  let look round =
    receive chan;
    check "received, so written" (!data = round)
  in
  race n [ tell; look ]

let send chan = Chan.send chan ()
let poll chan = relax_until (fun () -> Chan.try_recv chan <> None)
let try_send chan = relax_until (fun () -> Chan.try_send chan ())

(* Each domain in its own order: what one sent before is there, too. *)
let senders_in_order () =
  let chan = Chan.unbounded () in
  let send i round =
    for k = 0 to 2 do
      let message = ref (-1) in
      message := (4 * round) + k;
      Chan.send chan (i, message)
    done
  in
  let receive round =
    let last = [| -1; -1 |] in
    for _ = 1 to 6 do
      let i, message = Chan.recv chan in
      check "the sender's next" (!message > last.(i) && !message >= 4 * round);
      last.(i) <- !message
    done
  in
  race 3_000 [ receive; send 0; send 1 ]

(* {2 From a receive to the send that it made room for} *)

(* Each round both wrote before they met, so both see the other's. *)
let rendezvous () =
  let chan = Chan.bounded 0 in
  let give round =
    data := round;
    Chan.send chan ();
    check "taken, so written" (!back = round)
  in
  let take round =
    back := round;
    Chan.recv chan;
    check "given, so written" (!data = round)
  in
  race 10_000 [ give; take ]

(* A full channel of one place is a lock: who sends holds it, who receives lets go. *)
let room ~enter () =
  let chan = Chan.bounded 1 and inside = ref 0 in
  let party _ =
    enter chan;
    let now = !inside in
    check "nobody else" (now = 0);
    inside := now + 1;
    inside := now;
    Chan.recv chan
  in
  race 3_000 [ party; party; party ]

(* Two messages wait and a third one is being sent, so a cell is written again when the message
   before the fourth last has been received. *)
let ring =
  let cells = Array.make 4 0 in
  in_task 2 500 (fun round ->
      let chan = Chan.bounded 2 in
      let produce () =
        for i = 0 to 15 do
          cells.(i land 3) <- round + i;
          Chan.send chan i
        done
      in
      let producer = Task.async produce in
      for i = 0 to 15 do
        check "its content" (Chan.recv chan = i && cells.(i land 3) = round + i);
        loiter (round + i)
      done;
      Task.await producer)

(* {2 From a close to what it ends} *)

let closing ~wait () =
  let chan = ref (Chan.bounded 1) in
  let before _ = chan := Chan.bounded 1 in
  let close round =
    data := round;
    Chan.close !chan
  in
  let look round =
    wait !chan;
    check "closed, so written" (!data = round)
  in
  race 5_000 ~before [ close; look ]

let until_closed f = try f () with Chan.Closed -> ()
let receive_end chan = check "nothing" (Chan.recv_opt chan = None)
let see_closed chan = relax_until (fun () -> Chan.is_closed chan)

let send_in_vain chan =
  until_closed (fun () ->
      while true do
        Chan.send chan ()
      done)

let try_in_vain chan =
  until_closed (fun () ->
      while true do
        ignore (Chan.try_send chan ())
      done)

let poll_in_vain chan =
  until_closed (fun () ->
      while true do
        ignore (Chan.try_recv chan)
      done)

let select_end chan = check "the end" (Chan.select [ Chan.recv_opt_case chan Option.is_none ])

(* {2 Select} *)

(* The sender picks a channel, the receiver does not know which. *)
let select_receives () =
  let chans = Array.init 2 (fun _ -> Chan.bounded 0) and cells = [| 0; 0 |] in
  let give round =
    let i = round land 1 in
    cells.(i) <- round;
    Chan.send chans.(i) i;
    check "taken, so written" (!back = round)
  in
  let take round =
    back := round;
    let case c = Chan.recv_case c (fun i -> cells.(i)) in
    check "given, so written" (Chan.select [ case chans.(0); case chans.(1) ] = round)
  in
  race 5_000 [ give; take ]

(* Two that would each send to and receive from the other: one of the two happens. *)
let selects_meet () =
  let there = Chan.bounded 0 and here = Chan.bounded 0 in
  let cells = [| 0; 0 |] and saw = [| 0; 0 |] in
  let party me give take round =
    cells.(me) <- round;
    let other () = cells.(1 - me) in
    saw.(me) <- Chan.(select [ send_case give () other; recv_case take other ]);
    check "met, so written" (saw.(me) = round)
  in
  race 3_000 [ party 0 there here; party 1 here there ]

let try_select chan = relax_until (fun () -> Chan.(try_select [ recv_case chan Fun.id ]) <> None)

(* {2 Tasks} *)

let ping_pong =
  let ball = ref 0 in
  in_task 2 500 (fun _ ->
      let there = Chan.bounded 0 and back = Chan.bounded 1 in
      let strike from into () =
        for _ = 1 to 10 do
          Chan.recv from;
          incr ball;
          Chan.send into ()
        done
      in
      let before = !ball in
      let other = Task.async (strike there back) in
      Chan.send there ();
      for _ = 2 to 10 do
        Chan.recv back;
        incr ball;
        Chan.send there ()
      done;
      Chan.recv back;
      Task.await other;
      check "every stroke" (!ball = before + 19))

let iterates read =
  in_task 2 500 (fun round ->
      let chan = Chan.bounded 4 and cells = Array.make 16 0 and sum = ref 0 in
      let produce () =
        for i = 0 to 15 do
          cells.(i) <- round;
          Chan.send chan i
        done;
        data := round;
        Chan.close chan
      in
      let producer = Task.async produce in
      read (fun i -> sum := !sum + cells.(i)) chan;
      check "ended, so written" (!sum = 16 * round && !data = round);
      Task.await producer)

let by_seq f chan = Seq.iter f (Chan.to_seq chan)

(* {2 Store buffering}: of two who each do something and then look, one sees the other's. *)

let sb ~act ~look () =
  let chans = Array.init 2 (fun _ -> Chan.bounded 1) and seen = [| false; false |] in
  let before _ =
    for i = 0 to 1 do
      chans.(i) <- Chan.bounded 1
    done
  in
  let side i _ =
    act chans.(i);
    seen.(i) <- look chans.(1 - i)
  in
  let after _ = check "one sees the other" (seen.(0) || seen.(1)) in
  race 5_000 ~before ~after [ side 0; side 1 ]

let bounded n () = Chan.bounded n
let receive_1 chan = Chan.try_recv chan <> None

let () =
  main
    [
      case "chan: MP, rendezvous" (mp ~fresh:(bounded 0) ~send ~receive:Chan.recv 10_000);
      case "chan: MP, bounded" (mp ~fresh:(bounded 2) ~send ~receive:Chan.recv 10_000);
      case "chan: MP, unbounded" (mp ~fresh:Chan.unbounded ~send ~receive:Chan.recv 10_000);
      case "chan: MP, try_recv" (mp ~fresh:(bounded 1) ~send ~receive:poll 10_000);
      case "chan: MP, try_send" (mp ~fresh:(bounded 0) ~send:try_send ~receive:Chan.recv 3_000);
      case "chan: senders in order" senders_in_order;
      case "chan: rendezvous, both ways" rendezvous;
      case "chan: room, send" (room ~enter:send);
      case "chan: room, try_send" (room ~enter:try_send);
      case "chan: room, tasks" ring;
      case "close: MP, recv" (closing ~wait:receive_end);
      case "close: MP, is_closed" (closing ~wait:see_closed);
      case "close: MP, send" (closing ~wait:send_in_vain);
      case "close: MP, try_send" (closing ~wait:try_in_vain);
      case "close: MP, try_recv" (closing ~wait:poll_in_vain);
      case "close: MP, select" (closing ~wait:select_end);
      case "select: MP, receives" select_receives;
      case "select: MP, two meet" selects_meet;
      case "select: MP, try_select" (mp ~fresh:Chan.unbounded ~send ~receive:try_select 10_000);
      case "tasks: ping-pong" ping_pong;
      case "tasks: iter" (iterates Chan.iter);
      case "tasks: to_seq" (iterates by_seq);
      case "chan: SB, send and receive" (sb ~act:send ~look:receive_1);
      case "chan: SB, send and length" (sb ~act:send ~look:(fun c -> Chan.length c > 0));
      case "chan: SB, close and is_closed" (sb ~act:Chan.close ~look:Chan.is_closed);
    ]
