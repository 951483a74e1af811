(* Cancelled waits at channels: what was to be sent is not, and no message is taken. *)

open Harness
open Chan_support

let from c = Chan.recv_case c Fun.id
let is_cancelled t = match Task.await t with _ -> false | exception Task.Cancelled -> true

let cancel_waiting what f =
  let ended = ref None in
  let t = waiting (fun () -> ended := Some (outcome f)) in
  check_equal (what ^ " waits") None !ended;
  Task.cancel t;
  check_bool what true (is_cancelled t);
  check_equal (what ^ " raises") (Some (Error Task.Cancelled)) !ended

(* {2 One wait} *)

let receivers () =
  run_on 1 (fun () ->
      List.iter
        (fun capacity ->
          let c = Chan.bounded capacity and other = Chan.bounded 0 in
          cancel_waiting "recv" (fun () -> Chan.recv c);
          cancel_waiting "recv_opt" (fun () -> Option.get (Chan.recv_opt c));
          cancel_waiting "iter" (fun () ->
              Chan.iter ignore c;
              0);
          cancel_waiting "to_seq" (fun () -> Seq.length (Chan.to_seq c));
          cancel_waiting "select" (fun () -> Chan.select [ from c; from other ]);
          let next = waiting (fun () -> Chan.recv c) in
          Chan.send c 1;
          check_int "to the next" 1 (Task.await next);
          check_bool "nobody else" (capacity > 0) (Chan.try_send c 2);
          check_bool "nobody there" false (Chan.try_send other 2))
        [ 0; 1; 2 ])

let senders () =
  run_on 1 (fun () ->
      List.iter
        (fun capacity ->
          let c = Chan.bounded capacity and other = Chan.bounded 0 in
          for i = 1 to capacity do
            Chan.send c i
          done;
          let case c = Chan.send_case c (-1) ignore in
          cancel_waiting "send" (fun () -> Chan.send c (-1));
          cancel_waiting "select" (fun () -> Chan.select [ case c; case other ]);
          let next = waiting (fun () -> Chan.send c (capacity + 1)) in
          cancel_waiting "behind it" (fun () -> Chan.send c (-1));
          check_equal "the rest"
            (List.init (capacity + 1) succ)
            (List.init (capacity + 1) (fun _ -> Chan.recv c));
          Task.await next;
          check_equal "nobody else" None (Chan.try_recv c);
          check_equal "nobody there" None (Chan.try_recv other);
          check_int "length" 0 (Chan.length c))
        [ 0; 1; 2 ])

(* Its partner came, then it was cancelled, then it ran. *)
let too_late () =
  run_on 1 (fun () ->
      let done_ f partner =
        let ended = ref false in
        let t =
          waiting (fun () ->
              f ();
              ended := true)
        in
        partner ();
        check_bool "not yet" false !ended;
        Task.cancel t;
        ignore (is_cancelled t);
        check_bool "done" true !ended
      in
      let c = Chan.bounded 0 and full = Chan.bounded 1 in
      Chan.send full 0;
      let receive c expected () = check_int "message" expected (Chan.recv c) in
      done_ (receive c 1) (fun () -> ignore (Chan.try_send c 1));
      done_ (fun () -> Chan.send c 2) (fun () -> ignore (Chan.try_recv c));
      done_ (fun () -> Chan.send full 3) (fun () -> ignore (Chan.try_recv full));
      check_equal "moved up" (Some 3) (Chan.try_recv full);
      done_
        (fun () -> check_int "select" 4 (Chan.select [ from c; from full ]))
        (fun () -> ignore (Chan.try_send c 4)))

(* Where nothing makes it wait, too. *)
let checkpoints () =
  run_on 2 (fun () ->
      let c = Chan.unbounded () and full = Chan.bounded 1 in
      let stops what step =
        let begun = Atomic.make false in
        let t =
          Task.async (fun () ->
              while true do
                Atomic.set begun true;
                step ()
              done)
        in
        wait_until (fun () -> Atomic.get begun);
        Task.cancel t;
        check_bool what true (is_cancelled t)
      in
      stops "send" (fun () ->
          Chan.send c 1;
          ignore (Chan.try_recv c));
      stops "recv" (fun () ->
          ignore (Chan.try_send c 1);
          ignore (Chan.recv c));
      stops "iter" (fun () ->
          ignore (Chan.try_send c 1);
          Chan.iter (fun x -> ignore (Chan.try_send c x)) c);
      stops "select" (fun () ->
          Chan.select [ Chan.send_case full 1 ignore; Chan.recv_case full ignore ]))

let deadline () =
  List.iter
    (fun domains ->
      run_on domains (fun () ->
          let c = Chan.bounded 0 in
          check_raises "recv" Task.Deadline_exceeded (fun () ->
              Task.with_deadline 0.02 (fun () -> Chan.recv c));
          check_bool "nobody waits" false (Chan.try_send c 1);
          check_raises "send" Task.Deadline_exceeded (fun () ->
              Task.with_deadline 0.02 (fun () -> Chan.send c 2));
          check_equal "nothing was sent" None (Chan.try_recv c)))
    [ 1; 2 ]

let scope_of_waiters () =
  run_on 2 (fun () ->
      let c = Chan.bounded 0 and d : int Chan.t = Chan.bounded 0 in
      check_raises "scope" Exit (fun () ->
          Task.scope (fun s ->
              for i = 1 to 1000 do
                ignore
                  (Task.fork s (fun () ->
                       if i mod 2 = 0 then ignore (Chan.recv c)
                       else Chan.select [ Chan.recv_case c ignore; Chan.recv_case d ignore ]))
              done;
              Chan.send c 1;
              raise Exit));
      check_bool "nobody waits" false (Chan.try_send c 2))

let traces_go () =
  run_on 1 (fun () ->
      let c : int Chan.t = Chan.bounded 0 in
      for _ = 1 to 3000 do
        let t = waiting (fun () -> Chan.recv c) in
        Task.cancel t;
        ignore (is_cancelled t)
      done;
      let words = Obj.reachable_words (Obj.repr c) in
      if words > 3_000 then failf "%d words after waits that were cancelled" words)

(* Who finds no partner does not look through those that are gone again and again. *)
let are_forgotten () =
  run_on 1 (fun () ->
      let c : int Chan.t = Chan.bounded 0 in
      let gone wait what look =
        check_raises "scope" Exit (fun () ->
            Task.scope (fun s ->
                let begun = Muster.Latch.create 3000 in
                for _ = 1 to 3000 do
                  ignore
                    (Task.fork s (fun () ->
                         Muster.Latch.count_down begun;
                         wait ()))
                done;
                Muster.Latch.await begun;
                raise Exit));
        check_bool what true (look ());
        let words = Obj.reachable_words (Obj.repr c) in
        if words > 1_000 then failf "%s: %d words" what words
      in
      gone (fun () -> ignore (Chan.recv c)) "no receiver" (fun () -> not (Chan.try_send c 1));
      gone (fun () -> Chan.send c 1) "no sender" (fun () -> Chan.try_recv c = None))

(* {2 Every suspension point}

   Senders, relays and receivers; one of them is cancelled when it has begun its [k]th step. *)

type log = { mutable sent : (int * int) list; mutable got : (int * int) list }

let logs () = Array.init 6 (fun _ -> { sent = []; got = [] })

type scene = {
  a : (int * int) Chan.t;
  b : (int * int) Chan.t;
  at_a : log array;  (** by party, the last first *)
  at_b : log array;
  step : int -> unit;  (** of that party *)
}

let messages = 6

let sender t i () =
  for n = 1 to messages do
    t.step i;
    Chan.send t.a (i, n);
    t.at_a.(i).sent <- (i, n) :: t.at_a.(i).sent
  done

(* Takes as much as it can before it gives. *)
let relay t i () =
  let got m =
    t.at_a.(i).got <- m :: t.at_a.(i).got;
    `Got m
  in
  let sent m () =
    t.at_b.(i).sent <- m :: t.at_b.(i).sent;
    `Sent
  in
  let receives = Chan.recv_opt_case t.a (function Some m -> got m | None -> `End) in
  let rec go held =
    t.step i;
    match held with
    | [] -> ( match Chan.select [ receives ] with `Got m -> go [ m ] | `Sent | `End -> ())
    | m :: rest -> (
      match Chan.select [ Chan.send_case t.b m (sent m); receives ] with
      | `Got m -> go (held @ [ m ])
      | `Sent -> go rest
      | `End -> finish held)
  and finish held =
    List.iter
      (fun m ->
        t.step i;
        Chan.send t.b m;
        ignore (sent m ()))
      held
  in
  go []

let receiver t i () =
  let rec go () =
    t.step i;
    match Chan.recv_opt t.b with
    | Some m ->
      t.at_b.(i).got <- m :: t.at_b.(i).got;
      go ()
    | None -> ()
  in
  go ()

let account what chan logs =
  let all f = List.sort compare (List.concat_map f (Array.to_list logs)) in
  let left = List.of_seq (Chan.to_seq chan) in
  check_equal what (all (fun l -> l.sent)) (List.sort compare (left @ all (fun l -> l.got)))

(* Whether the victim got as far as that step. *)
let run_scene ~capacity ~victim ~k =
  let steps = Array.make 6 0 and mark = Chan.unbounded () in
  let step i =
    if i = victim && steps.(i) = k then Chan.send mark ();
    steps.(i) <- steps.(i) + 1
  in
  let a = Chan.bounded capacity and b = Chan.bounded capacity in
  let t = { a; b; at_a = logs (); at_b = logs (); step } in
  let start role i = Task.async (fun () -> role t i ()) in
  let senders = List.map (start sender) [ 0; 1 ] in
  let relays = List.map (start relay) [ 2; 3 ] in
  let receivers = List.map (start receiver) [ 4; 5 ] in
  let assassin =
    Task.async (fun () ->
        Chan.iter (fun () -> Task.cancel (List.nth (senders @ relays @ receivers) victim)) mark)
  in
  let wait t = try Task.await t with Task.Cancelled -> () in
  List.iter wait senders;
  Chan.close a;
  List.iter wait relays;
  Chan.close b;
  List.iter wait receivers;
  Chan.close mark;
  wait assassin;
  account "first channel" a t.at_a;
  account "second channel" b t.at_b;
  steps.(victim) > k

let everywhere domains () =
  run_on domains (fun () ->
      List.iter
        (fun capacity ->
          for victim = 0 to 5 do
            let rec from k = if run_scene ~capacity ~victim ~k && k < 40 then from (k + 1) in
            from 0
          done)
        [ 0; 1; 3 ])

(* {2 Races}

   At the same time somebody waits, its partner comes, and it is cancelled. *)

let race_of ~rounds ~capacity ~victim ~partner =
  for round = 1 to rounds do
    let c = Chan.bounded capacity and other = Chan.bounded 0 in
    if capacity > 0 && victim == `Send then Chan.send c 0;
    let sent = Atomic.make 0 and got = Atomic.make 0 in
    let send v =
      Chan.send c v;
      Atomic.incr sent
    in
    let recv () =
      ignore (Chan.recv c);
      Atomic.incr got
    in
    let choose () =
      Chan.select [ Chan.recv_case c (fun _ -> Atomic.incr got); Chan.recv_case other ignore ]
    in
    let do_ = function `Send -> send 1 | `Recv -> recv () | `Select -> choose () in
    let go = Atomic.make 0 in
    (* Not for long: the machine may have stopped the other one. *)
    let rec meet turns =
      if turns > 0 && Atomic.get go < 2 then (
        Domain.cpu_relax ();
        meet (turns - 1))
    in
    let together f =
      Task.async (fun () ->
          Atomic.incr go;
          meet 2000;
          f ())
    in
    let t = Task.async (fun () -> do_ victim) in
    let p = together (fun () -> do_ partner) in
    let k =
      together (fun () ->
          for _ = 1 to round mod 50 do
            Domain.cpu_relax ()
          done;
          Task.cancel t)
    in
    ignore (is_cancelled t);
    Task.await k;
    Chan.close c;
    (try Task.await p with Chan.Closed -> ());
    let left = Seq.length (Chan.to_seq c) in
    let before = if capacity > 0 && victim == `Send then 1 else 0 in
    check_int "each once" (before + Atomic.get sent) (Atomic.get got + left)
  done

let races () =
  run_on 4 (fun () ->
      List.iter
        (fun capacity ->
          List.iter
            (fun (victim, partner) -> race_of ~rounds:150 ~capacity ~victim ~partner)
            [ (`Recv, `Send); (`Select, `Send); (`Send, `Recv); (`Send, `Select) ])
        [ 0; 1 ])

let case name f = case ~seconds:60 name f

let () =
  Alcotest.run "cancelled waits at channels"
    [
      ( "one wait",
        [
          case "waiting receivers are cancelled" receivers;
          case "waiting senders are cancelled" senders;
          case "a wait whose partner came first is not cancelled" too_late;
          case "a deadline ends a wait" deadline;
          case "a scope of 1,000 waiters is cancelled" scope_of_waiters;
          case "cancelled waits leave no trace" traces_go;
          case "a call that finds no partner forgets cancelled waiters" are_forgotten;
          case "sends and receives are checkpoints" checkpoints;
        ] );
      ( "every suspension point",
        [
          case "on one worker" (everywhere 1);
          case "on two workers" (everywhere 2);
          case "on three workers" (everywhere 3);
        ] );
      ("races", [ case "a wait, its partner and a cancel at once" races ]);
    ]
