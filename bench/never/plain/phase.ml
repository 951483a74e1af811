type t = Trees | Lists

let all = [ ("trees", Trees); ("lists", Lists) ]

(* What dies young: nothing of it outlives a minor collection. Loops of its own: where the linker puts the
   stdlib's moves their time by some per cent. *)
let rec push n list = if n = 0 then list else push (n - 1) (n :: list)

let lists count =
  for _ = 1 to count do
    ignore (Sys.opaque_identity (push 200 []))
  done

(* Each takes 1 to 2 s on the machine of bench/README.md. *)
let work = function
  | Trees -> ignore (Sys.opaque_identity (Trees.build_and_drop 14_000))
  | Lists -> lists 9_600_000

let before_trees = 2_000
let idle_seconds = 0.2

let time kind =
  Unix.sleepf idle_seconds;
  let start = Mtime_clock.now_ns () in
  work kind;
  Int64.to_float (Int64.sub (Mtime_clock.now_ns ()) start)
