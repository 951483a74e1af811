(* Programs of different shapes: how many iterations, how long each, and where the long ones are. *)

type t = {
  name : string;
  sequential : unit -> unit;
  parallel : Muster.Pool.t -> unit;  (** within that pool *)
}

(* About so many nanoseconds, of the CPU's or asleep. *)
type work = int -> unit

let compute ns =
  let x = ref 1 in
  for i = 1 to ns do
    x := ((!x * 1103515245) + i) land 0x3fffffff
  done;
  ignore (Sys.opaque_identity !x)

let sleep ns = Unix.sleepf (float_of_int ns *. 1e-9)
let us = 1_000
let ms = 1_000_000

let plain_for n f =
  for i = 0 to n - 1 do
    f i
  done

let parallel_for n f = Muster.parallel_for ~start:0 ~finish:(n - 1) f

let reduce n f =
  let f i =
    f i;
    1
  in
  ignore (Muster.parallel_reduce ~start:0 ~finish:(n - 1) ~combine:( + ) ~init:0 f)

let times n f =
  for _ = 1 to n do
    f ()
  done

let loop ?(by = parallel_for) name n f =
  { name; sequential = (fun () -> plain_for n f); parallel = (fun _ -> by n f) }

(* For workers that are many: one or a few iterations for each. *)
let coarse (work : work) ~workers =
  let long = 10 * ms in
  let but_one which k i = work (if i = which then k * long else long) in
  [
    loop "for, an iteration of 10 ms for each worker" workers (fun _ -> work long);
    loop "for, four for each" (4 * workers) (fun _ -> work long);
    loop "for, four for each, the first lasts as long as four" (4 * workers) (but_one 0 4);
    loop ~by:reduce "reduce, one for each" workers (fun _ -> work long);
    loop ~by:reduce "reduce, four for each" (4 * workers) (fun _ -> work long);
    {
      name = "for in for, four for each";
      sequential = (fun () -> plain_for (4 * workers) (fun _ -> work long));
      parallel = (fun _ -> parallel_for 4 (fun _ -> parallel_for workers (fun _ -> work long)));
    };
  ]

let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)

let rec forked_fib n =
  if n < 20 then fib n
  else
    let a, b = Muster.both (fun () -> forked_fib (n - 1)) (fun () -> forked_fib (n - 2)) in
    a + b

type tree = Leaf | Node of tree * tree

let rec build n = if n = 0 then Leaf else Node (build (n - 1), build (n - 1))
let rec count = function Leaf -> 1 | Node (a, b) -> count a + count b
let rec trees n = if n < 8 then count (build n) else trees (n - 1) + trees (n - 1)

let rec forked_trees n =
  if n < 8 then count (build n)
  else
    let a, b = Muster.both (fun () -> forked_trees (n - 1)) (fun () -> forked_trees (n - 1)) in
    a + b

let value f () = ignore (Sys.opaque_identity (f ()))

let values name sequential parallel =
  { name; sequential = value sequential; parallel = (fun _ -> value parallel ()) }

let collections n =
  let step x =
    compute 20;
    x + 1
  in
  let ints = Array.init n (fun i -> i * 48271 land 0xfffffff) in
  let list = Array.to_list ints in
  let sorted sort () =
    let a = Array.copy ints in
    sort Int.compare a;
    a
  in
  [
    values "Array.map, 20 ns" (fun () -> Array.map step ints) (fun () -> Muster.Parallel.Array.map step ints);
    values "Array.init, boxed"
      (fun () -> Array.init n Option.some)
      (fun () -> Muster.Parallel.Array.init n Option.some);
    values "Array.scan"
      (fun () -> snd (Array.fold_left_map (fun acc x -> (acc + x, acc + x)) 0 ints))
      (fun () -> Muster.Parallel.Array.scan ( + ) ints);
    values "Array.stable_sort" (sorted Array.stable_sort) (sorted Muster.Parallel.Array.stable_sort);
    values "List.map, 20 ns" (fun () -> List.map step list) (fun () -> Muster.Parallel.List.map step list);
    values "List.sort"
      (fun () -> List.sort Int.compare list)
      (fun () -> Muster.Parallel.List.sort Int.compare list);
  ]

let fine ~quick =
  let of_size n = if quick then Int.max 1 (n / 100) else n in
  let regions pool =
    Muster.Team.for_slices pool 128 (fun ~worker:_ ~start:_ ~count -> compute (count * us))
  in
  let tasks () = Muster.Task.all (List.init (of_size 1_000) (fun _ () -> compute (100 * us))) in
  [
    values "fib 38, cut-off 20"
      (fun () -> fib (if quick then 24 else 38))
      (fun () -> forked_fib (if quick then 24 else 38));
    values "trees of depth 22, built and counted"
      (fun () -> trees (if quick then 10 else 22))
      (fun () -> forked_trees (if quick then 10 else 22));
    loop "for, 1,000,000 of 100 ns" (of_size 1_000_000) (fun _ -> compute 100);
    loop "for, 1,000 of 100 us" (of_size 1_000) (fun _ -> compute (100 * us));
    loop "for, 2,000, each longer than the one before" (of_size 2_000) (fun i -> compute (i * 100));
    loop ~by:reduce "reduce, 1,000,000 of 100 ns" (of_size 1_000_000) (fun _ -> compute 100);
    {
      name = "100 times for, 1,000 of 1 us";
      sequential = (fun () -> times 100 (fun () -> plain_for (of_size 1_000) (fun _ -> compute us)));
      parallel = (fun _ -> times 100 (fun () -> parallel_for (of_size 1_000) (fun _ -> compute us)));
    };
    {
      name = "1,000 times for_slices, 128 of 1 us";
      sequential = (fun () -> times (of_size 1_000) (fun () -> compute (128 * us)));
      parallel = (fun pool -> times (of_size 1_000) (fun () -> regions pool));
    };
    {
      name = "1,000 tasks of 100 us";
      sequential = (fun () -> plain_for (of_size 1_000) (fun _ -> compute (100 * us)));
      parallel = (fun _ -> ignore (tasks ()));
    };
  ]
  @ collections (of_size 1_000_000)
