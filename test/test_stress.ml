(* A few seconds of the stress test on pools of several sizes, and of the soak. *)

open Harness

let run ?env arguments =
  let arguments = String.split_on_char ' ' arguments in
  let child = Child.run ?env ~limit:200. "stress/stress.exe" arguments in
  print_string child.output;
  Child.check_success child;
  child

let stress ~seed domains () =
  ignore (run (Printf.sprintf "--seconds 1 --seed %d --domains %d" seed domains))

(* Of each kind of run: joins or broadcasts, compactions or calls from C. It changes the numbers of
   workers at random itself, so that a flipped run would be the same. *)
let soak seed () =
  let env = [ ("MUSTER_GOVERNOR", "random") ] in
  let child = run ~env (Printf.sprintf "--soak --seconds 1 --seed %d" seed) in
  List.iter
    (fun sub -> check_bool sub true (contains child.output ~sub))
    [ Printf.sprintf "seed %d" seed; "0 wrong answers"; "operations: leaf"; "resident: peak" ]

(* Ctrl-C ends it with what there is so far. *)
let interrupted_soak () =
  let child =
    Child.run ~limit:200. ~interrupt:Sys.sigint "stress/stress.exe"
      [ "--soak"; "--seconds"; "100000" ]
  in
  Child.check_success child;
  check_bool "summary" true (contains child.output ~sub:", interrupted, 0 wrong answers")

let random_seed = int_of_float (Unix.gettimeofday () *. 1e3) mod 1_000_000

let () =
  let on domains seed =
    let name = Printf.sprintf "%d domains, seed %d" domains seed in
    case ~seconds:220 name (stress ~seed domains)
  in
  Alcotest.run "stress"
    [
      ("a fixed seed", (if flipped then [] else [ on 1 1 ]) @ [ on 2 2; on 3 3; on 8 8 ]);
      ( "random task graphs for a minute",
        List.map
          (fun seed -> case ~seconds:220 (string_of_int seed) (soak seed))
          (if flipped then [] else [ 4; 5; 6; 7 ]) );
      ("Ctrl-C", [ case ~seconds:220 "Ctrl-C ends random task graphs" interrupted_soak ]);
      ("a new seed", [ on 2 random_seed; on 3 random_seed ]);
    ]
