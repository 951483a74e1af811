(* Long result arrays.

   The kernel hands out memory page by page, to whoever touches it first, and clears each: for a million elements that
   takes 2 to 5 ms, as long as sixteen workers need for 40 ns of work on each. So all workers touch it. *)

open Muster_core

(* Half a megabyte: some 100 us for one worker, where a region takes a few, or 25 for each worker that sleeps. *)
let long = 1 lsl 16

(* A region's caller stays on its domain. *)
let share n put =
  Pool.with_current
    ~in_place:(fun () -> put 0 n)
    (fun w ->
      let workers = Region.size w in
      Region.run w ~to_the_end:true ~revoke:true ~workers (fun worker ->
          let start, count = Slices.slice n workers worker in
          put start count))

(* For elements that are all set before anybody reads them. *)
let make n v = if n < long then Compat.make_fresh n v else Compat.make_together n v ~share
