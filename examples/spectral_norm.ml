(* The spectral norm of an infinite matrix (The Computer Language Benchmarks Game): a
   [for] over rows becomes [parallel_for], and nothing else changes. *)

let[@inline] a i j = 1. /. float_of_int (((i + j) * (i + j + 1) / 2) + i + 1)

let row_times (u : float array) i =
  let sum = ref 0. in
  for j = 0 to Array.length u - 1 do
    sum := !sum +. (a i j *. u.(j))
  done;
  !sum

let column_times (u : float array) i =
  let sum = ref 0. in
  for j = 0 to Array.length u - 1 do
    sum := !sum +. (a j i *. u.(j))
  done;
  !sum

let multiply_sequential times u v =
  for i = 0 to Array.length v - 1 do
    v.(i) <- times u i
  done

let multiply_parallel times u v =
  Muster.parallel_for ~start:0 ~finish:(Array.length v - 1) (fun i -> v.(i) <- times u i)

let dot u v =
  let sum = ref 0. in
  Array.iteri (fun i x -> sum := !sum +. (x *. v.(i))) u;
  !sum

(* The power method on [At * A]; [w] holds the half-way product. *)
let norm multiply n =
  let u = Array.make n 1. and v = Array.make n 0. and w = Array.make n 0. in
  for _ = 1 to 10 do
    multiply row_times u w;
    multiply column_times w v;
    multiply row_times v w;
    multiply column_times w u
  done;
  sqrt (dot u v /. dot v v)

let sequential n = norm multiply_sequential n
let parallel n = norm multiply_parallel n

let rows n =
  [
    Example.row "rows by parallel_for"
      ~shows:
        "Four loops over the rows of a matrix that is computed on the way: they scale with the \
         domains."
      ~show:(Printf.sprintf "%.9f")
      ~sequential:(fun () -> sequential n)
      ~parallel:(fun _ -> parallel n);
  ]

let example =
  let size = Example.size ~max:1_000_000 ~default:4096 "Take $(docv) rows and columns." in
  Example.command ~name:"spectral_norm" ~doc:"spectral norm of a matrix, rows in parallel" ~size
    (Cmdliner.Term.const rows)
