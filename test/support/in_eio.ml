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

let rec beside_ticks ?(left = 10) name make =
  let f = make () in
  let ticks = ref 0 and is_over = ref false in
  let began = Unix.gettimeofday () in
  Fiber.both
    (fun () ->
      f ();
      is_over := true)
    (fun () ->
      while not !is_over do
        pause (float tick_ms /. 1000.);
        incr ticks
      done);
  let ms = 1000. *. (Unix.gettimeofday () -. began) in
  let due = int_of_float (ms /. float tick_ms) in
  if 10 * !ticks < 8 * due then
    if left > 1 then beside_ticks ~left:(left - 1) name make
    else failf "%s: %d of %d ticks" name !ticks due
