(* muster.h from C++. *)

open Harness
module Pool = Muster.Pool

external sum_to : int -> int = "cxx_sum_to"
external count_dynamic : int -> int = "cxx_count_dynamic"
external fail : unit -> unit = "cxx_fail"
external guards : unit -> int = "cxx_guards"

let loops pool =
  Pool.run pool (fun () ->
      List.iter
        (fun n ->
          check_int "slices" (n * (n - 1) / 2) (sum_to n);
          check_int "dynamic" n (count_dynamic n))
        [ 0; 1; 100; 10_000 ])

let exceptions () =
  check_invalid ~mentions:[ "muster_for_slices"; "NULL" ] "fail" fail;
  check_int "destructors not run" 0 (guards ())

let () =
  Alcotest.run "kernels in C++"
    [ ("C++", [ case "loops" (on_each_count loops); case "exceptions" exceptions ]) ]
