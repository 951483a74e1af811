(* Task.first and Task.all: losers and tasks right of a failure are cancelled. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List

let first_cancels_losers () =
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      let loser () = endless began Task.check () in
      check_int "winner" 1
        (Task.first
           [
             loser;
             (fun () ->
               until began;
               1);
           ]))

(* Nobody can take one out of turn. *)
let all_begins_in_order () =
  in_pool 1 (fun () ->
      let begun = ref [] in
      let note i () =
        begun := i :: !begun;
        if i mod 3 = 0 then Task.sleep 0.001
      in
      ignore (Task.all (List.init 20 note));
      check_equal "in order" (List.init 20 (fun i -> 19 - i)) !begun)

(* The winner is not cancelled: no hook of its is called, and what it has started goes on. *)
(* What a loser awaits it may run itself, on its own stack. *)
let first_cancels_what_losers_await () =
  let loser () =
    Task.await (Task.async (fun () -> Latch.await (Latch.create 1)));
    1
  in
  let winner () =
    Task.blocking (fun () -> Unix.sleepf 0.01);
    2
  in
  check_int "winner" 2 (Task.first [ loser; winner; loser ])

(* The left one comes first, so it is waited for. *)
let all_cancels_what_is_right_of_a_failure () =
  let left = ref false and right = ref "" in
  let waits () =
    match Latch.await (Latch.create 1) with
    | () -> ()
    | exception exn ->
      right := Printexc.to_string exn;
      raise exn
  in
  let slow () =
    Task.blocking (fun () -> Unix.sleepf 0.05);
    left := true
  in
  let fails () =
    Task.blocking (fun () -> Unix.sleepf 0.01);
    raise (Failed 1)
  in
  check_raises "the failure" (Failed 1) (fun () -> Task.all [ slow; fails; waits; waits ]);
  check_bool "the left one has ended" true !left;
  check_bool "the right ones were told" true (!right = "" || contains !right ~sub:"Cancelled")

let first_spares_the_winner () =
  let of_losers = Atomic.make 0 and of_winners = Atomic.make 0 in
  let go = Muster.Latch.create 1 and losers = Muster.Latch.create 2 in
  let loser () =
    Task.on_cancel (fun () -> Atomic.incr of_losers);
    Muster.Latch.count_down losers;
    Muster.Latch.await (Muster.Latch.create 1)
  in
  let winner () =
    Task.on_cancel (fun () -> Atomic.incr of_winners);
    Muster.Latch.await losers;
    Task.async (fun () ->
        Muster.Latch.await go;
        7)
  in
  let lose () =
    loser ();
    winner ()
  in
  let started = Task.first [ lose; winner; lose ] in
  check_int "hooks of losers" 2 (Atomic.get of_losers);
  check_int "of the winner" 0 (Atomic.get of_winners);
  Muster.Latch.count_down go;
  check_int "what the winner has started" 7 (Task.await started)

(* Who has not begun when there is a winner does not begin. *)
let first_begins_no_more () =
  in_pool 1 (fun () ->
      let begun = ref 0 in
      let count i () =
        incr begun;
        i
      in
      check_int "winner" 0 (Task.first (List.init 1000 count));
      check_int "begun" 1 !begun)

(* Both messages are there before either task goes on: [first] takes both, [select] one. *)
let first_drops_what_losers_got () =
  let messages_left waiting receive =
    in_pool 1 (fun () ->
        let a = Chan.unbounded () and b = Chan.unbounded () and begun = ref 0 in
        let t = Task.async (fun () -> receive a b (fun () -> incr begun)) in
        while !begun < waiting do
          try Task.with_deadline 0.001 (fun () -> Task.await t) with Task.Deadline_exceeded -> ()
        done;
        Chan.send a ();
        Chan.send b ();
        Task.await t;
        Chan.length a + Chan.length b)
  in
  let receive_from c begin_ () =
    begin_ ();
    Chan.recv c
  in
  let by_first a b begin_ = Task.first [ receive_from a begin_; receive_from b begin_ ] in
  let by_select a b begin_ =
    begin_ ();
    Chan.(select [ recv_case a Fun.id; recv_case b Fun.id ])
  in
  check_int "first" 0 (messages_left 2 by_first);
  check_int "select" 1 (messages_left 1 by_select)

let () =
  let on domains name f = case (Printf.sprintf "%s, %d domains" name domains) (fun () -> in_pool domains f) in
  let on_one_and_three name f = [ on 1 name f; on 3 name f ] in
  Alcotest.run "first, all"
    [
      ( "first",
        [
          case "first cancels the losers" first_cancels_losers;
          case "all begins in order on one worker" all_begins_in_order;
          case "first starts no more tasks once one has won" first_begins_no_more;
          case "first drops the results of losers" first_drops_what_losers_got;
        ]
        @ on_one_and_three "first cancels the tasks that losers await" first_cancels_what_losers_await
        @ on_one_and_three "first does not cancel the winner" first_spares_the_winner );
      ( "all",
        on_one_and_three "all cancels the tasks to the right of a failure"
          all_cancels_what_is_right_of_a_failure );
    ]
