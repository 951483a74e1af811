(* A few seconds of the stress test on pools of several sizes. *)

open Harness

let stress ~seed domains () =
  let arguments = Printf.sprintf "--seconds 2 --seed %d --domains %d" seed domains in
  let arguments = String.split_on_char ' ' arguments in
  let child = Child.run ~limit:100. "stress/stress.exe" arguments in
  print_string child.output;
  Child.check_success child

let random_seed = int_of_float (Unix.gettimeofday () *. 1e3) mod 1_000_000

let () =
  let on domains seed =
    let name = Printf.sprintf "%d domains, seed %d" domains seed in
    case ~seconds:120 name (stress ~seed domains)
  in
  Alcotest.run "stress"
    [
      ("a fixed seed", [ on 1 1; on 2 2; on 3 3; on 8 8 ]);
      ("a new seed", [ on 2 random_seed; on 3 random_seed ]);
    ]
