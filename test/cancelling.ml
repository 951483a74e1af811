(* What the tests of cancellation share. *)

open Harness
open Muster
module List = Stdlib.List

exception Failed of int

let case name f = case ~seconds:30 name f
let in_pool = run_on
let sizes = [ 1; 2; 3; 8 ]
let on_all f () = List.iter (fun domains -> in_pool domains f) sizes

(* Outside all pools, and in small ones. *)
let everywhere f () =
  f ();
  List.iter (fun domains -> in_pool domains f) [ 1; 2; 3 ]

let is_cancelled f = match f () with _ -> false | exception Task.Cancelled -> true
let check_cancelled what f = check_bool what true (is_cancelled f)

(* Runs [f] until it is cancelled; tells whether it began. *)
let endless began f () =
  Atomic.set began true;
  let rec again () =
    f ();
    again ()
  in
  again ()

let until flag =
  while not (Atomic.get flag) do
    Unix.sleepf 0.0005
  done

(* A second task beside one that runs: in a pool that is short of workers it begins when there may
   be more of them again, and somebody looks. *)
let look_until flag =
  while not (Atomic.get flag) do
    Unix.sleepf 0.0005;
    Task.check ()
  done
