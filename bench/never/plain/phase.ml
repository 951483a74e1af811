type t = Trees | Lists

let all = [ ("trees", Trees); ("lists", Lists) ]

(* What dies young: nothing of it outlives a minor collection. *)
let lists count =
  for _ = 1 to count do
    ignore (Sys.opaque_identity (List.rev (List.init 100 succ)))
  done

(* Each takes about 2 s on the machine of bench/README.md. *)
let work = function
  | Trees -> ignore (Sys.opaque_identity (Trees.build_and_drop 14_000))
  | Lists -> lists 4_800_000

let before_trees = 2_000
let idle_seconds = 0.2

let time kind =
  Unix.sleepf idle_seconds;
  let start = Mtime_clock.now_ns () in
  work kind;
  Int64.to_float (Int64.sub (Mtime_clock.now_ns ()) start)
