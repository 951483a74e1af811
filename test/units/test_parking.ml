(* [Parking], alone against a model for every short sequence, and with sleepers. *)

open Harness
open Unit_support
open Muster_core

(* {2 Every sequence}

   The model is the sets of places that are asleep, and of those that are so aside. *)

type op =
  | Announce of int
  | Announce_aside of int
  | Cancel of int
  | Wake of int
  | Wake_one
  | Wake_one_from of int
  | Wake_all

let places = 3

type model = { asleep : int list; aside : int list }

let without i list = List.filter (( <> ) i) list
let awaken { asleep; aside } i = { asleep = without i asleep; aside = without i aside }
let is_down { asleep; aside } i = List.mem i asleep || List.mem i aside

let wake_one ~from m =
  match List.sort compare (List.filter (fun i -> from <= i) m.asleep) with
  | [] -> m
  | first :: _ -> awaken m first

let step parking m = function
  | Announce i ->
    Parking.announce parking i;
    { aside = without i m.aside; asleep = i :: without i m.asleep }
  | Announce_aside i ->
    Parking.announce_aside parking i;
    { asleep = without i m.asleep; aside = i :: without i m.aside }
  | Cancel i ->
    Parking.cancel parking i;
    awaken m i
  | Wake i ->
    check_bool "wake" (is_down m i) (Parking.wake parking i);
    awaken m i
  | Wake_one ->
    ignore (Parking.wake_one parking);
    wake_one ~from:0 m
  | Wake_one_from from ->
    ignore (Parking.wake_one parking ~from);
    wake_one ~from m
  | Wake_all ->
    Parking.wake_all parking;
    { asleep = []; aside = [] }

(* Those that are awake do not sleep, whatever token they have. *)
let look parking m =
  check_int "sleepers" (List.length m.asleep) (Parking.sleepers parking);
  for i = 0 to places - 1 do
    if not (is_down m i) then ignore (Parking.sleep parking i ~limit_ms:(-1))
  done

let every_sequence () =
  let run ops =
    let parking = Parking.create places in
    let step_and_look m op =
      let m = step parking m op in
      look parking m;
      m
    in
    ignore (List.fold_left step_and_look { asleep = []; aside = [] } ops)
  in
  let ops =
    [
      Announce 0;
      Announce 1;
      Announce 2;
      Announce_aside 0;
      Announce_aside 1;
      Cancel 0;
      Cancel 1;
      Wake 0;
      Wake 1;
      Wake_one;
      Wake_one_from 1;
      Wake_all;
    ]
  in
  each_word ops ~length:5 run

(* {2 Sleepers} *)

let sleeping parking i = Domain.spawn (fun () -> ignore (Parking.sleep parking i ~limit_ms:(-1)))

let wake_before_the_sleep () =
  let parking = Parking.create 1 in
  for _ = 1 to 1_000 do
    Parking.announce parking 0;
    check_bool "wake" true (Parking.wake parking 0);
    ignore (Parking.sleep parking 0 ~limit_ms:(-1))
  done;
  check_int "sleepers" 0 (Parking.sleepers parking)

(* The wake of the first announcement leaves its token; a sleep that took it for its own would
   end before the second wake. *)
let late_token () =
  let parking = Parking.create 1 in
  Parking.announce parking 0;
  check_bool "first wake" true (Parking.wake parking 0);
  Parking.cancel parking 0;
  Parking.announce parking 0;
  let woken = Atomic.make false in
  let sleeper =
    Domain.spawn (fun () ->
        ignore (Parking.sleep parking 0 ~limit_ms:(-1));
        Atomic.get woken)
  in
  Unix.sleepf 0.02;
  Atomic.set woken true;
  check_bool "second wake" true (Parking.wake parking 0);
  check_bool "slept until the second wake" true (Domain.join sleeper)

let wake_one_wakes_one () =
  let parking = Parking.create places in
  let ended = Atomic.make 0 in
  let sleeper i =
    Parking.announce parking i;
    Domain.spawn (fun () ->
        ignore (Parking.sleep parking i ~limit_ms:(-1));
        Atomic.incr ended)
  in
  let domains = List.init places sleeper in
  for woken = 1 to places do
    ignore (Parking.wake_one parking);
    wait_until (fun () -> Atomic.get ended = woken);
    Unix.sleepf 0.01;
    check_int "ended" woken (Atomic.get ended);
    check_int "sleepers" (places - woken) (Parking.sleepers parking)
  done;
  List.iter Domain.join domains

let wake_all_wakes_all () =
  let parking = Parking.create places in
  List.iter (Parking.announce parking) [ 0; 1; 2 ];
  let domains = List.init places (sleeping parking) in
  Parking.wake_all parking;
  List.iter Domain.join domains;
  check_int "sleepers" 0 (Parking.sleepers parking)

(* Who slept to the limit is told so, and is still there to be woken. *)
let limit_is_no_wake () =
  let parking = Parking.create 1 in
  Parking.announce parking 0;
  check_bool "woken" false (Parking.sleep parking 0 ~limit_ms:1);
  check_int "sleepers" 1 (Parking.sleepers parking);
  let sleeper = Domain.spawn (fun () -> ignore (Parking.sleep parking 0 ~limit_ms:(-1))) in
  Unix.sleepf 0.01;
  ignore (Parking.wake_one parking);
  Domain.join sleeper

(* {2 Hand-over} *)

let take work =
  let n = Atomic.get work in
  n > 0 && Atomic.compare_and_set work n (n - 1)

(* As Worker parks: announce, re-check, sleep or cancel. *)
let rec consume parking work i left =
  if left > 0 then
    if take work then consume parking work i (left - 1)
    else begin
      Parking.announce parking i;
      if Atomic.get work > 0 then Parking.cancel parking i
      else ignore (Parking.sleep parking i ~limit_ms:(-1));
      consume parking work i left
    end

let publish parking work count =
  for _ = 1 to count do
    Atomic.incr work;
    ignore (Parking.wake_one parking);
    while Atomic.get work > 1 do
      Domain.cpu_relax ()
    done
  done

(* A lost wake-up is a hang, which the guard ends. *)
let no_wake_is_lost () =
  let make _ =
    let parking = Parking.create 2 and work = Atomic.make 0 in
    let count = 100 in
    {
      state = (parking, work);
      left = (fun _ -> publish parking work count);
      right = (fun _ -> consume parking work 1 count);
    }
  in
  let verdict (parking, work) =
    check_int "work left" 0 (Atomic.get work);
    check_int "sleepers at rest" 0 (Parking.sleepers parking)
  in
  race ~make ~verdict ()

(* Each sleeps until the other wakes it by its number. *)
let ping_pong () =
  let make _ =
    let parking = Parking.create 2 and turn = Atomic.make 0 in
    let rec play me left =
      if left > 0 then begin
        while Atomic.get turn <> me do
          Parking.announce parking me;
          if Atomic.get turn = me then Parking.cancel parking me
          else ignore (Parking.sleep parking me ~limit_ms:(-1))
        done;
        Atomic.set turn (1 - me);
        ignore (Parking.wake parking (1 - me));
        play me (left - 1)
      end
    in
    { state = parking; left = (fun _ -> play 0 50); right = (fun _ -> play 1 50) }
  in
  let verdict parking = check_int "sleepers at rest" 0 (Parking.sleepers parking) in
  race ~make ~verdict ()

let () =
  Alcotest.run "parking"
    [
      ("alone", [ case "every sequence of 5 operations" every_sequence ]);
      ( "sleepers",
        [
          case "a wake before the sleep" wake_before_the_sleep;
          case "a late token does not end the next sleep" late_token;
          case "wake_one wakes one" wake_one_wakes_one;
          case "wake_all wakes all" wake_all_wakes_all;
          case "a time limit is no wake" limit_is_no_wake;
        ] );
      ( "two domains",
        [ case "no wake is lost" no_wake_is_lost; case "each wakes the other" ping_pong ] );
    ]
