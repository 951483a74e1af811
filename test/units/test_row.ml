(* Loops of which none is worth waking a worker for. *)

open Harness
open Muster_core
open Muster_loop

(* A worker may wake by itself, and who calls may lose its processor between two calls. *)
let in_some_try expected what f =
  let rec again tries = f () = expected || (tries > 0 && again (tries - 1)) in
  check_bool what true (again 20)

let rows () =
  run_on 2 (fun () ->
      let w = Fiber.place () in
      let sleeps () = Parking.sleepers w.pool.parking > 0 in
      let slept_after loops ~pause =
        wait_until sleeps;
        Unix.sleepf 0.001;
        let after_one _ =
          Unix.sleepf pause;
          Range.wake_for_row w (6 * Tuning.min_waking / 10);
          sleeps ()
        in
        List.init loops after_one
      in
      in_some_try [ true ] "one loop" (fun () -> slept_after 1 ~pause:0.);
      in_some_try [ true; false ] "two in a row" (fun () -> slept_after 2 ~pause:0.);
      in_some_try [ true; true; true ] "three, with pauses" (fun () -> slept_after 3 ~pause:0.001))

let () =
  Alcotest.run "rows of loops" [ ("waking", [ case "short loops in a row wake a worker"
  (if flipped then ignore else rows) ]) ]
