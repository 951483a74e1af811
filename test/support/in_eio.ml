open Harness
module Fiber = Eio.Fiber

let clock = ref None
let pause seconds = Eio.Time.sleep (Option.get !clock) seconds

let in_eio f () =
  List.iter
    (fun workers ->
      with_default workers (fun () ->
          Eio_posix.run (fun env ->
              clock := Some (Eio.Stdenv.clock env);
              f env)))
    [ 1; 2; 3 ]

let here f = in_eio (fun _ -> f ())

let rec until what =
  if not (what ()) then begin
    pause 0.001;
    until what
  end

let tick_ms = 20

(* A domain that sleeps as long counts how many ticks the machine has time for. *)
let rec beside_ticks ?(left = 5) name make =
  let f = make () in
  let is_over = Atomic.make false in
  let count_ticks pause =
    let rec count n =
      pause (float tick_ms /. 1000.);
      if Atomic.get is_over then n else count (n + 1)
    in
    count 0
  in
  let asleep = Domain.spawn (fun () -> count_ticks Unix.sleepf) in
  let (), ticks =
    Fun.protect
      ~finally:(fun () -> Atomic.set is_over true)
      (fun () ->
        Fiber.pair
          (fun () ->
            f ();
            Atomic.set is_over true)
          (fun () -> count_ticks pause))
  in
  let due = Domain.join asleep in
  if 10 * ticks < 8 * due then
    if left > 1 then beside_ticks ~left:(left - 1) name make
    else failf "%s: %d of %d ticks" name ticks due
