(* [Chan.select] and [Chan.try_select]. *)

open Harness
open Chan_support

let from c = Chan.recv_case c Fun.id

let with_message v =
  let c = Chan.bounded 1 in
  Chan.send c v;
  c

(* {2 What can be done at once} *)

let the_ready_one () =
  let empty = Chan.bounded 1 and full = with_message 1 in
  check_int "receive" 1 (Chan.select [ from empty; from full ]);
  check_int "send" 10 (Chan.select [ from full; Chan.send_case empty 5 (fun () -> 10) ]);
  check_int "was sent" 5 (Chan.recv empty);
  check_int "nothing else" 0 (Chan.length empty + Chan.length full)

let none_ready () =
  let empty = Chan.bounded 1 and full = with_message 1 and open_ = Chan.bounded 0 in
  let cases =
    [ from empty; Chan.send_case full 2 (fun () -> 0); Chan.send_case open_ 3 (fun () -> 0) ]
  in
  check_equal "try_select" None (Chan.try_select cases);
  check_equal "of no cases" None (Chan.try_select []);
  check_int "no message was sent" 1 (Chan.recv full);
  check_equal "now one" (Some 0)
    (Chan.try_select [ from empty; Chan.send_case full 2 (fun () -> 0) ])

let no_cases () =
  check_invalid ~mentions:[ "Muster.Chan.select" ] "empty" (fun () -> Chan.select [])

(* The worst of 3 cases that are always ready has a chance of 1/3 each time. *)
let each_gets_its_turn () =
  let n = 3000 and taken = Array.make 3 0 in
  let chans = Array.init 3 (fun i -> with_message i) in
  for _ = 1 to n do
    let i = Chan.select (List.map from (Array.to_list chans)) in
    taken.(i) <- taken.(i) + 1;
    Chan.send chans.(i) i
  done;
  Array.iteri (fun i k -> if k < n / 6 then failf "case %d: %d of %d" i k n) taken

(* Whatever stands between those that can be done, and which of a channel's several a partner finds. *)
let all_have_the_same_chance () =
  let n = 4000 in
  let fair what taken =
    let share = n / Array.length taken in
    Array.iteri
      (fun i k -> if abs (k - share) > share / 5 then failf "%s: case %d: %d of %d" what i k n)
      taken
  in
  let empty : int Chan.t = Chan.bounded 0 and full = Array.init 2 with_message in
  let taken = Array.make 2 0 in
  for _ = 1 to n do
    let i = Chan.select [ from empty; from empty; from full.(0); from full.(1) ] in
    taken.(i) <- taken.(i) + 1;
    Chan.send full.(i) i
  done;
  fair "behind others" taken;
  run_on 1 (fun () ->
      let c = Chan.bounded 0 and taken = Array.make 2 0 in
      for _ = 1 to n do
        let t =
          waiting (fun () ->
              Chan.select [ Chan.send_case c 0 (fun () -> 0); Chan.send_case c 1 (fun () -> 1) ])
        in
        let i = Chan.recv c in
        check_int "its message" (Task.await t) i;
        taken.(i) <- taken.(i) + 1
      done;
      fair "in line" taken)

(* Neither do selects that take turns on a domain all get the same. *)
let turns_are_not_shared () =
  let pairs = Array.init 2 (fun _ -> [| with_message 0; with_message 1 |]) in
  let taken = Array.make_matrix 2 2 0 in
  for k = 0 to 1999 do
    let pair = pairs.(k mod 2) and taken = taken.(k mod 2) in
    let i = Chan.select (List.map from (Array.to_list pair)) in
    taken.(i) <- taken.(i) + 1;
    Chan.send pair.(i) i
  done;
  Array.iter (Array.iter (fun k -> if k < 250 then failf "%d of 1000" k)) taken

let functions_are_called_afterwards () =
  let c = with_message 1 in
  let twice v = v + Chan.select [ Chan.send_case c 2 (fun () -> Chan.recv c) ] in
  check_int "may use the channel" 3 (Chan.select [ Chan.recv_case c twice ]);
  Chan.send c 4;
  check_raises "raises" Exit (fun () -> Chan.select [ Chan.recv_case c (fun _ -> raise Exit) ]);
  check_int "the message was taken" 0 (Chan.length c)

let one_channel_in_several_cases () =
  let c = with_message 1 in
  check_int "either" 1 (Chan.select [ from c; from c; from c ]);
  run_on 1 (fun () ->
      let t = waiting (fun () -> Chan.select [ from c; from c; from c ]) in
      Chan.send c 2;
      check_int "after a wait" 2 (Task.await t);
      check_bool "once" true (Chan.try_send c 3))

(* {2 Waiting} *)

(* Whichever comes, exactly one case is done, and the others leave no trace. *)
let first_wins () =
  run_on 1 (fun () ->
      let a = Chan.bounded 0 and b = Chan.bounded 0 and out = Chan.bounded 0 in
      let cases () = [ from a; from b; Chan.send_case out 3 (fun () -> 3) ] in
      let wins expected act =
        let t = waiting (fun () -> Chan.select (cases ())) in
        act ();
        check_int "case" expected (Task.await t);
        check_bool "nobody at a" false (Chan.try_send a 0);
        check_bool "nobody at b" false (Chan.try_send b 0);
        check_equal "nobody at out" None (Chan.try_recv out)
      in
      wins 1 (fun () -> Chan.send a 1);
      wins 2 (fun () -> Chan.send b 2);
      wins 3 (fun () -> check_int "out" 3 (Chan.recv out)))

let in_line_with_others () =
  run_on 1 (fun () ->
      let a = Chan.bounded 0 and b = Chan.bounded 0 in
      let first = waiting (fun () -> Chan.select [ from a; from b ]) in
      let second = waiting (fun () -> Chan.recv a) in
      let third = waiting (fun () -> Chan.select [ from b; from a ]) in
      List.iter (Chan.send a) [ 1; 2; 3 ];
      check_equal "in order" [ 1; 2; 3 ] (List.map Task.await [ first; second; third ]))

let moves_up_in_a_buffer () =
  run_on 1 (fun () ->
      let a = with_message 1 and b = with_message 2 in
      let send c v = Chan.send_case c v (fun () -> v) in
      let t = waiting (fun () -> Chan.select [ send a 10; send b 20 ]) in
      check_int "from b" 2 (Chan.recv b);
      check_int "case" 20 (Task.await t);
      check_int "sent to b" 20 (Chan.recv b);
      check_int "from a" 1 (Chan.recv a);
      check_int "not to a" 0 (Chan.length a))

let not_with_itself () =
  run_on 1 (fun () ->
      let c = Chan.bounded 0 in
      let both v = [ from c; Chan.send_case c v (fun () -> -v) ] in
      check_equal "alone" None (Chan.try_select (both 1));
      let t = waiting (fun () -> Chan.select (both 2)) in
      Task.await (Task.async ignore);
      let other = Chan.select (both 3) in
      match (other, Task.await t) with 2, -2 | -3, 3 -> () | a, b -> failf "%d and %d" a b)

(* {2 Close} *)

let closed () =
  let c : int Chan.t = Chan.bounded 1 in
  Chan.close c;
  check_closed "receive" (fun () -> Chan.select [ from c ]);
  check_closed "send" (fun () -> Chan.select [ Chan.send_case c 1 (fun () -> 1) ]);
  check_equal "the end" None (Chan.select [ Chan.recv_opt_case c Fun.id ]);
  check_closed "try_select" (fun () -> Chan.try_select [ from c ])

let closed_while_it_waits () =
  run_on 1 (fun () ->
      let ends f =
        let a = Chan.bounded 0 and b : int Chan.t = Chan.bounded 0 in
        let t =
          waiting (fun () -> outcome (fun () -> Chan.select [ Chan.recv_case a Option.some; f b ]))
        in
        Chan.close b;
        let result = Task.await t in
        check_bool "nobody at a" false (Chan.try_send a 0);
        result
      in
      check_equal "receive" (Error Chan.Closed) (ends (fun b -> Chan.recv_case b Option.some));
      check_equal "send" (Error Chan.Closed) (ends (fun b -> Chan.send_case b 1 (fun () -> None)));
      check_equal "the end" (Ok None) (ends (fun b -> Chan.recv_opt_case b Fun.id)))

(* {2 Selects that meet} *)

(* A would send to c or receive from d, and B the reverse: they do the same one of the two. *)
let crossed () =
  let c = Chan.bounded 0 and d = Chan.bounded 0 in
  let party mine yours first =
    let send = Chan.send_case mine `Sent (fun () -> `Mine) in
    let recv = Chan.recv_case yours (fun `Sent -> `Yours) in
    Chan.select (if first then [ send; recv ] else [ recv; send ])
  in
  for round = 1 to 500 do
    let a = Task.async (fun () -> party c d (round land 1 = 0)) in
    let b = Task.async (fun () -> party d c (round land 2 = 0)) in
    match (Task.await a, Task.await b) with
    | `Mine, `Yours | `Yours, `Mine -> ()
    | `Mine, `Mine -> failf "round %d: both sent" round
    | `Yours, `Yours -> failf "round %d: both received" round
  done

(* Each of three would send to the next or receive from the one before: two of them meet. *)
let in_a_ring () =
  for _ = 1 to 200 do
    let chans = Array.init 3 (fun _ -> Chan.bounded 0) and stop = Chan.unbounded () in
    let party i =
      Task.async (fun () ->
          Chan.select
            [
              Chan.send_case chans.(i) i (fun () -> `Sent i);
              Chan.recv_case chans.((i + 2) mod 3) (fun v -> `Got v);
              Chan.recv_case stop (fun () -> `Stopped);
            ])
    in
    let parties = List.init 3 party in
    let ends = Chan.unbounded () in
    List.iter (fun t -> ignore (Task.async (fun () -> Chan.send ends (Task.await t)))) parties;
    let first = Chan.recv ends in
    let second = Chan.recv ends in
    Chan.send stop ();
    match (first, second, Chan.recv ends) with
    | (`Sent a, `Got b, `Stopped | `Got b, `Sent a, `Stopped) when a = b -> ()
    | _ -> failf "no two met"
  done

(* Parties that send and receive wherever they can, until each has sent all of its messages and the
   channels are closed. *)
let stage chans ~sending mine =
  let rec go left got open_chans =
    match (left, open_chans) with
    | [], [] -> got
    | [], _ when not sending -> receive [] got open_chans
    | _ -> receive left got open_chans
  and receive left got open_chans =
    let receives =
      List.map
        (fun c ->
          Chan.recv_opt_case c (function
            | Some v -> fun () -> go left (v :: got) open_chans
            | None -> fun () -> go left got (List.filter (( != ) c) open_chans)))
        open_chans
    in
    let sends =
      match left with
      | [] -> []
      | v :: rest ->
        List.map (fun c -> Chan.send_case c v (fun () () -> go rest got open_chans)) chans
    in
    (Chan.select (sends @ receives)) ()
  in
  go mine [] (if sending then [] else chans)

let conservation ~start capacities () =
  let chans = List.map Chan.bounded capacities in
  let messages = 150 and parties = 3 in
  let numbers p = List.init messages (fun i -> (p * messages) + i) in
  let results = Array.make (2 * parties) [] in
  let run i =
    start (fun () ->
        let sending = i < parties in
        results.(i) <- stage chans ~sending (if sending then numbers i else []))
  in
  let senders = List.init parties run in
  let receivers = List.init parties (fun i -> run (parties + i)) in
  List.iter (fun join -> join ()) senders;
  List.iter Chan.close chans;
  List.iter (fun join -> join ()) receivers;
  let got = List.sort compare (List.concat (Array.to_list results)) in
  check_equal "each once" (List.init (parties * messages) Fun.id) got

let mixes = [ [ 0 ]; [ 0; 0; 0 ]; [ 1; 0; 2 ]; [ 5; 1 ] ]
let conserve start () = List.iter (fun mix -> conservation ~start mix ()) mixes

(* Everyone sends and receives at once, until that has gone well often enough. *)
let exchange () =
  let c = Chan.bounded 0 and stop : unit Chan.t = Chan.bounded 0 in
  let meetings = 500 in
  let sent = Atomic.make 0 and got = Atomic.make 0 and met = Atomic.make 0 in
  let add sum v =
    ignore (Atomic.fetch_and_add sum v);
    true
  in
  let send v () =
    if Atomic.fetch_and_add met 1 = meetings then Chan.close stop;
    add sent v
  in
  let rec party v =
    if
      Chan.select
        [
          Chan.send_case c v (send v);
          Chan.recv_case c (add got);
          Chan.recv_opt_case stop (fun _ -> false);
        ]
    then party (v + 1)
  in
  List.iter Task.await (List.init 5 (fun i -> Task.async (fun () -> party (i * 10_000))));
  check_bool "met" true (Atomic.get met > meetings);
  check_int "sum" (Atomic.get sent) (Atomic.get got)

(* {2 Traces} *)

let lost_ones_go () =
  run_on 1 (fun () ->
      let busy = Chan.unbounded () and silent : int Chan.t = Chan.bounded 0 in
      let producer =
        Task.async (fun () ->
            for i = 1 to 20_000 do
              Chan.send busy i;
              if i mod 10 = 0 then Task.await (Task.async ignore)
            done)
      in
      for _ = 1 to 20_000 do
        ignore (Chan.select [ from silent; from busy ])
      done;
      Task.await producer;
      let waits = ref 0 in
      for i = 1 to 10_000 do
        let t = waiting (fun () -> Chan.select [ from silent; from busy ]) in
        Chan.send busy i;
        if Task.await t = i then incr waits
      done;
      check_int "waits" 10_000 !waits;
      let words = Obj.reachable_words (Obj.repr silent) in
      if words > 2_000 then failf "%d words after selects that ended elsewhere" words)

let case name f = case ~seconds:60 name f

let () =
  Alcotest.run "select"
    [
      ( "at once",
        [
          case "select does the case that can be done" the_ready_one;
          case "try_select gives None if no case can be done" none_ready;
          case "a select of no cases is refused" no_cases;
          case "each case gets its turn" each_gets_its_turn;
          case "all cases have the same chance" all_have_the_same_chance;
          case "two loops do not share the chances" turns_are_not_shared;
          case "functions are called after their case" functions_are_called_afterwards;
          case "one channel is in several cases" one_channel_in_several_cases;
        ] );
      ( "waiting",
        [
          case "the first event ends the wait" first_wins;
          case "a select waits in line with others" in_line_with_others;
          case "a waiting case moves up into the buffer" moves_up_in_a_buffer;
          case "a select does not receive its own message" not_with_itself;
          case "channels let go of cases that lost" lost_ones_go;
        ] );
      ( "close",
        [
          case "a closed channel's case can be done" closed;
          case "a close ends a waiting select" closed_while_it_waits;
        ] );
      ( "that meet",
        [
          case "two selects with crossed channels" (on_all crossed);
          case "selects in a ring" (on_all in_a_ring);
          case "each message arrives once, tasks" (on_all (conserve as_task));
          case "each message arrives once, domains" (conserve as_domain);
          case "each message arrives once, systhreads" (conserve as_thread);
          case "tasks that send or receive" (on_all exchange);
        ] );
    ]
