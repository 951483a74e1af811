(* Floats: Muster's loops over ranges and its numeric operations against the loop that one would
   write by hand. *)

module F = Float.Array
module A1 = Bigarray.Array1
module Ours = Muster.Parallel.Floatarray

let floats n = F.init n (fun i -> float_of_int ((i * 7919) land 1023) /. 1024.)

(* {2 Loops over a part} *)

let squares (a : float array) ~start ~finish =
  let sum = ref 0. in
  for i = start to finish do
    sum := !sum +. (a.(i) *. a.(i))
  done;
  !sum

let sines (a : float array) ~start ~finish =
  let sum = ref 0. in
  for i = start to finish do
    sum := !sum +. sin a.(i)
  done;
  !sum

let sum a ~start ~finish =
  let sum = ref 0. in
  for i = start to finish do
    sum := !sum +. F.get a i
  done;
  !sum

let dot a b ~start ~finish =
  let sum = ref 0. in
  for i = start to finish do
    sum := !sum +. (F.get a i *. F.get b i)
  done;
  !sum

let extremes a ~start ~finish =
  let least = ref infinity and most = ref neg_infinity in
  for i = start to finish do
    let x = F.get a i in
    if x < !least then least := x;
    if x > !most then most := x
  done;
  (!least, !most)

let in_parts n part =
  Muster.parallel_reduce_range ~start:0 ~finish:(n - 1) ~combine:( +. ) ~init:0. part

(* {2 Rows of a matrix product} *)

let row n a b c i =
  for j = 0 to n - 1 do
    let sum = ref 0. in
    for k = 0 to n - 1 do
      sum := !sum +. (F.get a ((i * n) + k) *. F.get b ((k * n) + j))
    done;
    F.set c ((i * n) + j) !sum
  done

type matrix = (float, Bigarray.float64_elt, Bigarray.c_layout) Bigarray.Array2.t

let bigarray_row n (a : matrix) (b : matrix) (c : matrix) i =
  for j = 0 to n - 1 do
    let sum = ref 0. in
    for k = 0 to n - 1 do
      sum := !sum +. (a.{i, k} *. b.{k, j})
    done;
    c.{i, j} <- !sum
  done

let for_rows n row =
  for i = 0 to n - 1 do
    row i
  done

let for_rows_at_once n row = Muster.parallel_for ~start:0 ~finish:(n - 1) row

let matrix n =
  Bigarray.Array2.init Float64 C_layout n n (fun i j -> float_of_int ((i * 31) + j) /. 1024.)

(* {2 Cases} *)

let on_one_domain f () = Muster.Pool.with_ ~domains:1 (fun _ -> f ())

let sums n =
  let a = floats n and b = floats n in
  let plain = Array.init n (F.get a) in
  let whole part = part ~start:0 ~finish:(n - 1) in
  let case name bar ours theirs =
    Case.make ("numbers, " ^ name) n ~against:"a loop" bar ~ours ~theirs
  in
  [
    case "sum of squares, in parts" (Case.Faster 1.)
      (fun () -> in_parts n (squares plain))
      (fun () -> whole (squares plain));
    case "sum of squares, parallel_reduce" Case.Note
      (fun () ->
        let square i = plain.(i) *. plain.(i) in
        Muster.parallel_reduce ~start:0 ~finish:(n - 1) ~combine:( +. ) ~init:0. square)
      (fun () -> whole (squares plain));
    case "Floatarray.sum" (Case.Faster 1.5) (fun () -> Ours.sum a) (fun () -> whole (sum a));
    case "Floatarray.dot" (Case.Faster 1.5) (fun () -> Ours.dot a b) (fun () -> whole (dot a b));
    case "Floatarray.min_max" Case.Note
      (fun () -> ignore (Ours.min_max a))
      (fun () -> ignore (whole (extremes a)));
    case "Floatarray.fold" Case.Note
      (fun () -> Ours.fold ( +. ) 0. a)
      (fun () -> whole (sum a));
    (* What memory gives: the same loop of C on one domain. *)
    Case.make "numbers, Floatarray.sum" n ~against:"one domain" Case.Note
      ~ours:(fun () -> Ours.sum a)
      ~theirs:(on_one_domain (fun () -> Ours.sum a));
  ]

let sine n =
  let a = Array.init n float_of_int in
  Case.make "numbers, sum of sin, in parts" n ~against:"a loop" (Case.Faster 1.9)
    ~ours:(fun () -> in_parts n (sines a))
    ~theirs:(fun () -> sines a ~start:0 ~finish:(n - 1))

let products n =
  let case name row =
    Case.make ("numbers, product, " ^ name) n ~against:"a loop" (Case.Faster 1.9)
      ~ours:(fun () -> for_rows_at_once n row)
      ~theirs:(fun () -> for_rows n row)
  in
  let a = floats (n * n) and b = floats (n * n) and c = F.create (n * n) in
  [
    case "Floatarray" (row n a b c);
    case "Bigarray" (bigarray_row n (matrix n) (matrix n) (matrix n));
  ]

let cases ~quick =
  if quick then sums 10_000 @ (sine 10_000 :: products 64)
  else sums 10_000_000 @ sums 1_000_000 @ (sine 1_000_000 :: products 512)
