(* muster.h from Rust. *)

open Harness
module Pool = Muster.Pool

external sum_to : (int[@untagged]) -> (int[@untagged]) = "rust_no_bytecode" "rust_sum_to"

external count_dynamic : (int[@untagged]) -> (int[@untagged])
  = "rust_no_bytecode" "rust_count_dynamic"

external workers : (int[@untagged]) -> (int[@untagged]) = "rust_no_bytecode" "rust_workers"
external fails : (int[@untagged]) -> (int[@untagged]) = "rust_no_bytecode" "rust_fails"

let loops pool =
  Pool.run pool (fun () ->
      check_int "workers" (Pool.size pool) (workers 0);
      List.iter
        (fun n ->
          check_int "slices" (n * (n - 1) / 2) (sum_to n);
          check_int "dynamic" n (count_dynamic n))
        [ 0; 1; 100; 10_000 ])

let exceptions () = check_int "an exception" 1 (fails 0)

let () =
  Alcotest.run "kernels in Rust"
    [ ("Rust", [ case "loops" (on_each_count loops); case "exceptions" exceptions ]) ]
