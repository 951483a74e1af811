(* Task.sleep, and a time limit among the cases of Chan.select. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List

(* What a case has left behind would be done in the next one. *)
let no_timer_is_left () = check_bool "a timer is left" false (Muster_core.Timer.are_set ())
let at_least seconds f =
  let v, took = wall_seconds f in
  check_bool "not before its time" true (took >= seconds);
  v

(* {2 Sleep} *)

let sleeps () =
  at_least 0.01 (fun () -> Task.sleep 0.01);
  no_timer_is_left ()

let sleeps_not () =
  let (), took =
    wall_seconds (fun () ->
        Task.sleep 0.;
        Task.sleep (-5.);
        Task.sleep neg_infinity)
  in
  check_bool "at once" true (took < 4.5)

let not_a_number () =
  check_invalid ~mentions:[ "Muster.Task.sleep"; "nan" ] "sleep" (fun () -> Task.sleep nan);
  check_invalid ~mentions:[ "Muster.Chan.after"; "nan" ] "after" (fun () -> Chan.after nan ignore)

(* A thousand take as long as one, and have no threads. *)
let many_sleep domains () =
  in_pool domains (fun () ->
      let threads = ref 0 in
      let body i () =
        Task.sleep 0.2;
        if i = 500 then threads := process_status "Threads"
      in
      let before = process_status "Threads" in
      let _, took = wall_seconds (fun () -> Task.all (List.init 1000 body)) in
      check_bool "at the same time" true (took >= 0.2 && took < 10.);
      check_bool "without threads" true (!threads <= before + 4));
  no_timer_is_left ()

let each_for_its_time () =
  in_pool 1 (fun () ->
      let ended = ref [] in
      let sleep seconds () =
        at_least seconds (fun () -> Task.sleep seconds);
        ended := seconds :: !ended
      in
      Task.first [ sleep 3600.; (fun () -> ignore (Task.all (List.map sleep [ 0.03; 0.01; 0.04; 0.02 ]))) ];
      check_equal "ended" [ 0.01; 0.02; 0.03; 0.04 ] (List.sort compare !ended))

let is_cancelled_at_once domains () =
  in_pool domains (fun () ->
      let began = Atomic.make false in
      let t =
        Task.async (fun () ->
            Atomic.set began true;
            Task.sleep infinity)
      in
      while not (Atomic.get began) do
        Task.sleep 0.001
      done;
      let (), took =
        wall_seconds (fun () ->
            Task.cancel t;
            check_cancelled "sleep" (fun () -> Task.await t))
      in
      check_bool "at once" true (took < 5.);
      check_cancelled "before it" (fun () ->
          Task.scope (fun s ->
              Task.cancel_scope s;
              Task.sleep 100.)));
  no_timer_is_left ()

let has_a_deadline () =
  check_raises "deadline" Task.Deadline_exceeded (fun () ->
      Task.with_deadline 0.01 (fun () -> Task.sleep 100.));
  at_least 0.01 (fun () -> Task.with_deadline 100. (fun () -> Task.sleep 0.01));
  no_timer_is_left ()

let cannot_be_suspended () =
  in_pool 2 (fun () ->
      at_least 0.01 (fun () -> call_through_c (fun () -> Task.sleep 0.01)));
  with_domains 2 (fun pool ->
      at_least 0.01 (fun () -> Team.for_n pool 4 (fun ~worker:_ _ -> Task.sleep 0.01)))

(* Nobody else is in the pool meanwhile. *)
let nobody_is_there domains () =
  with_domains domains (fun pool ->
      let woken = Atomic.make false in
      let t =
        Pool.run pool (fun () ->
            Task.async (fun () ->
                Task.sleep 0.4;
                Atomic.set woken true))
      in
      wait_until (fun () -> Atomic.get woken);
      Task.await t)

(* Of two workers the idle one stays, as the other does not look at the clock. *)
let others_compute () =
  with_domains 2 (fun pool ->
      let began = Atomic.make false and woken = Atomic.make false in
      let compute () =
        Atomic.set began true;
        wait_until (fun () -> Atomic.get woken)
      and sleep () =
        Task.sleep 0.4;
        Atomic.set woken true
      in
      let start f = Pool.run pool (fun () -> Task.async f) in
      let computing = start compute in
      wait_until (fun () -> Atomic.get began);
      let sleeping = start sleep in
      wait_until (fun () -> Atomic.get woken);
      Task.(await computing; await sleeping))

let closing_waits () =
  let woken = ref false in
  with_domains 2 (fun pool ->
      Pool.run pool (fun () ->
          ignore
            (Task.async (fun () ->
                 Task.sleep 0.05;
                 woken := true))));
  check_bool "woken" true !woken

(* Ctrl-C ends each of these waits, outside a pool and within one, and what is held is released. *)
let interrupted wait () =
  let released = Atomic.make 0 in
  let interrupt () =
    (* Else the exception may be this thread's own. *)
    ignore (Thread.sigmask SIG_BLOCK [ Sys.sigint ]);
    Thread.delay 0.05;
    Unix.kill (Unix.getpid ()) Sys.sigint
  in
  let waits () =
    Task.bracket ~acquire:ignore
      ~release:(fun () ->
        Task.sleep 0.001;
        Atomic.incr released)
      wait
  in
  let is_struck f =
    let thread = Thread.create interrupt () in
    check_raises "Ctrl-C" Sys.Break f;
    Thread.join thread
  in
  Sys.catch_break true;
  Fun.protect
    ~finally:(fun () -> Sys.set_signal Sys.sigint Signal_default)
    (fun () ->
      is_struck waits;
      with_domains 2 (fun pool -> is_struck (fun () -> Pool.run pool waits)));
  check_int "released" 2 (Atomic.get released);
  no_timer_is_left ()

let waits_to_interrupt =
  let never () = fst (Promise.create ()) in
  [
    ("sleep", fun () -> Task.sleep 100.);
    ("a promise", fun () -> Task.await (never ()));
    ("any", fun () -> Task.any [ never (); never () ]);
    ("a time limit", fun () -> Chan.(select [ recv_case (bounded 0) ignore; after 100. ignore ]));
  ]

(* {2 A time limit} *)

let expires () =
  let c : int Chan.t = Chan.unbounded () in
  let wait cases = Chan.(select (recv_case c Option.some :: cases)) in
  let limit seconds = Chan.after seconds (fun () -> None) in
  check_bool "no message" true (at_least 0.01 (fun () -> wait [ limit 0.01 ]) = None);
  check_bool "the earliest" true
    (at_least 0.01 (fun () -> wait [ limit 100.; limit 0.01; limit infinity ]) = None);
  check_bool "nothing else" true (at_least 0.01 (fun () -> Chan.select [ limit 0.01 ]) = None);
  check_bool "at once" true (wait [ limit 0. ] = None);
  check_bool "before" true (wait [ limit (-1.) ] = None);
  no_timer_is_left ()

let message_comes_first () =
  let c = Chan.unbounded () in
  let receive seconds = Chan.(select [ after seconds (fun () -> 0); recv_case c Fun.id ]) in
  for i = 1 to 20 do
    Chan.send c i;
    check_int "a message is preferred" i (receive 0.)
  done;
  let t =
    Task.async (fun () ->
        Task.sleep 0.005;
        Chan.send c 7)
  in
  check_int "while it waits" 7 (receive 100.);
  Task.await t;
  Chan.close c;
  check_raises "closed" Chan.Closed (fun () -> receive 100.);
  no_timer_is_left ()

let send_in_time () =
  let c = Chan.bounded 0 in
  let send seconds = Chan.(select [ send_case c 1 (fun () -> true); after seconds (fun () -> false) ]) in
  check_bool "nobody receives" false (send 0.005);
  check_bool "not sent" true (Chan.try_recv c = None);
  let t = Task.async (fun () -> Chan.recv c) in
  check_bool "somebody receives" true (send 100.);
  check_int "sent" 1 (Task.await t)

let without_waiting () =
  let c : int Chan.t = Chan.bounded 1 in
  let look seconds = Chan.(try_select [ recv_case c Option.some; after seconds (fun () -> None) ]) in
  check_bool "would wait" true (look 100. = None);
  check_bool "would not" true (look 0. = Some None);
  Chan.send c 1;
  check_bool "a message" true (look 0. = Some (Some 1))

let raises_its_own () =
  check_raises "of the function" (Failed 1) (fun () ->
      Chan.select [ Chan.after 0.001 (fun () -> raise (Failed 1)) ])

let limit_is_cancelled domains () =
  in_pool domains (fun () ->
      let c : int Chan.t = Chan.bounded 0 and began = Atomic.make false in
      let t =
        Task.async (fun () ->
            Atomic.set began true;
            Chan.(select [ recv_case c Fun.id; after infinity (fun () -> 0) ]))
      in
      while not (Atomic.get began) do
        Task.sleep 0.001
      done;
      Task.sleep 0.002;
      Task.cancel t;
      check_cancelled "select" (fun () -> Task.await t);
      check_bool "in no line" false (Chan.try_send c 1));
  no_timer_is_left ()

(* Messages that come just as the time is up: each is received once, or not sent. *)
let at_the_limit domains () =
  in_pool domains (fun () ->
      let c = Chan.bounded 0 and rounds = 300 in
      let sent = Atomic.make 0 and received = ref 0 and late = ref 0 in
      let sender () =
        for i = 1 to rounds do
          Task.sleep 0.001;
          let is_sent = Chan.(select [ send_case c i (fun () -> true); after 0.001 (fun () -> false) ]) in
          if is_sent then Atomic.incr sent
        done
      in
      let t = Task.async sender in
      while not (Task.is_done t) do
        match Chan.(select [ recv_case c Option.some; after 0.001 (fun () -> None) ]) with
        | Some _ -> incr received
        | None -> incr late
      done;
      Task.await t;
      check_int "as many as were sent" (Atomic.get sent) !received);
  no_timer_is_left ()

let () =
  let on name f domains = case (Printf.sprintf "%s, %d domains" name domains) (f domains) in
  Alcotest.run "sleep"
    [
      ( "sleep",
        [
          case "for so long" (everywhere sleeps);
          case "not at all" (everywhere sleeps_not);
          case "not a number" not_a_number;
          on "many" many_sleep 1;
          on "many" many_sleep 2;
          case "each for its own time" each_for_its_time;
          on "cancelled" is_cancelled_at_once 1;
          on "cancelled" is_cancelled_at_once 2;
          case "with a deadline" (everywhere has_a_deadline);
          case "where nothing can be suspended" cannot_be_suspended;
          on "nobody is there" nobody_is_there 1;
          on "nobody is there" nobody_is_there 2;
          case "others compute" others_compute;
          case "a pool that closes waits" closing_waits;
        ] );
      ("Ctrl-C ends", List.map (fun (name, wait) -> case name (interrupted wait)) waits_to_interrupt);
      ( "a time limit",
        [
          case "expires" (everywhere expires);
          case "a message comes first" (everywhere message_comes_first);
          case "for a send" (everywhere send_in_time);
          case "without waiting" without_waiting;
          case "its function raises" (everywhere raises_its_own);
          on "cancelled" limit_is_cancelled 1;
          on "cancelled" limit_is_cancelled 2;
          on "messages at the limit" at_the_limit 1;
          on "messages at the limit" at_the_limit 2;
        ] );
    ]
