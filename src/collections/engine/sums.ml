(* Sums of lists, by the caller alone: to add an element takes no longer than the walk to it, for
   which a second worker would wait as well.

   Floats are added in runs, each in a variable of its own, unboxed; then by the tree of Tally. *)

let run = Tally.adding.run

(* Elements of a list between two checkpoints: some microseconds. *)
let stretch = 1024

let rec ints_from sum l n =
  match l with
  | x :: l when n > 0 -> ints_from (sum + x) l (n - 1)
  | [] -> sum
  | l ->
    Adaptive.checkpoint ();
    ints_from sum l stretch

let ints l =
  Fiber.check ();
  ints_from 0 l stretch

let total nodes = Option.value (Tally.total ( +. ) nodes) ~default:0.

let rec runs nodes at = function
  | [] -> total nodes
  | l ->
    let sum = ref 0. and rest = ref l and n = ref run in
    while !n > 0 do
      match !rest with
      | [] -> n := 0
      | x :: l ->
        sum := !sum +. x;
        rest := l;
        decr n
    done;
    if (at + 1) land ((stretch / run) - 1) = 0 then Adaptive.checkpoint ();
    runs (Tally.push ( +. ) at 0 !sum nodes) (at + 1) !rest

let floats l =
  Fiber.check ();
  runs Tally.none 0 l
