(* What tests of channels share: kinds of channels, and ways to run a party. *)

open Harness

(* Not all of Muster: its lists, arrays and locks are not the stdlib's. *)
module Chan = Muster.Chan
module Pool = Muster.Pool
module Task = Muster.Task

let on_all = Sync_support.on_pools
let waiting = Sync_support.waiting_task
let check_list what expected actual = check_equal what expected (List.map Fun.id actual)
let check_closed what f = check_raises what Chan.Closed f

(* [Some n]: bounded. *)
let make = function Some n -> Chan.bounded n | None -> Chan.unbounded ()
let kinds = [ Some 0; Some 1; Some 2; Some 7; None ]
let drain c = List.of_seq (Chan.to_seq c)

(* {2 Ways to run a party; each gives a function that waits for its end} *)

let as_task f =
  let t = Task.async f in
  fun () -> Task.await t

let as_domain f =
  let d = Domain.spawn (fun () -> outcome f) in
  fun () -> Result.iter_error raise (Domain.join d)

let as_thread f =
  let result = ref (Ok ()) in
  let t = Thread.create (fun () -> result := outcome f) () in
  fun () ->
    Thread.join t;
    Result.iter_error raise !result
