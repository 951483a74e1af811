(* The examples, written against Domainslib's interface: this file is compiled twice, once for
   each library. What they compute is in examples/ and kernels.ml; here is how they share it out. *)

open Domainslib
open Muster_examples

type program = Task.pool Program.t

let program = Program.make

(* With an answer that is one value. *)
let answer ?fine name ~show run =
  program ?fine name ~prepare:(fun () -> ref None) ~digest:(fun r -> show (Option.get !r))
    (fun pool result -> result := Some (run pool))

let times n f = for _ = 1 to n do f () done

(* ---- Recursive ---- *)

(* As in Domainslib's manual: two tasks at every call. *)
let rec fib pool n =
  if n < 2 then 1
  else
    let a = Task.async pool (fun () -> fib pool (n - 1)) in
    let b = Task.async pool (fun () -> fib pool (n - 2)) in
    Task.await pool a + Task.await pool b

let rec fib_above pool ~cutoff n =
  if n <= cutoff then Fib.sequential n
  else
    let a = Task.async pool (fun () -> fib_above pool ~cutoff (n - 1)) in
    let b = Task.async pool (fun () -> fib_above pool ~cutoff (n - 2)) in
    Task.await pool a + Task.await pool b

let rec quicksort pool ~cutoff a low high =
  if high - low < cutoff then Quicksort.sort_sequential a low high
  else begin
    let cut = Quicksort.split a low high in
    let left = Task.async pool (fun () -> quicksort pool ~cutoff a low cut) in
    quicksort pool ~cutoff a (cut + 1) high;
    Task.await pool left
  end

let rec mergesort pool ~cutoff ~from ~into low high =
  if high - low <= cutoff then Mergesort.sort_sequential ~from ~into low high
  else begin
    let middle = low + ((high - low) / 2) in
    let left =
      Task.async pool (fun () -> mergesort pool ~cutoff ~from:into ~into:from low middle)
    in
    mergesort pool ~cutoff ~from:into ~into:from middle high;
    Task.await pool left;
    Mergesort.merge { from; low; high = middle } { from; low = middle; high } into low
  end

let sort name ~size sort =
  let digest a = string_of_int (Array.fold_left (fun sum x -> (31 * sum) + x) 0 a) in
  program name ~prepare:(fun () -> Quicksort.random size) ~digest sort

let recursive ~quick =
  let size = if quick then 1_000 else 1_000_000 in
  [
    answer "fib" ~fine:true ~show:string_of_int (fun pool -> fib pool (if quick then 10 else 29));
    answer "fib-cut-off" ~show:string_of_int (fun pool ->
        fib_above pool ~cutoff:20 (if quick then 22 else 38));
    sort "quicksort" ~size (fun pool a -> quicksort pool ~cutoff:1000 a 0 (size - 1));
    sort "quicksort-fine" ~size (fun pool a -> quicksort pool ~cutoff:16 a 0 (size - 1));
    sort "mergesort" ~size (fun pool a ->
        mergesort pool ~cutoff:1000 ~from:(Array.copy a) ~into:a 0 size);
  ]

(* ---- Numerical ---- *)

let spectral_norm pool n =
  Spectral_norm.norm
    (fun times u v ->
      let body i = v.(i) <- times u i in
      Task.parallel_for pool ~start:0 ~finish:(Array.length v - 1) ~body)
    n

let life pool ~iterations board =
  Life.after ~iterations
    (fun board next ->
      let body = Life.next_row_of board next in
      Task.parallel_for pool ~start:0 ~finish:(Array.length board - 1) ~body)
    board

let nbody pool ~iterations bodies =
  let finish = Array.length bodies - 1 in
  times iterations (fun () ->
      Task.parallel_for pool ~start:0 ~finish ~body:(Nbody.pull_locally bodies);
      Array.iter Nbody.move bodies)

let few_bodies pool ~iterations (system : Fork_union_nbody.system) =
  let finish = Array.length system.bodies - 1 in
  times iterations (fun () ->
      Task.parallel_for pool ~start:0 ~finish ~body:(Fork_union_nbody.compute_force system);
      Task.parallel_for pool ~start:0 ~finish ~body:(Fork_union_nbody.apply_force system))

let lu pool m =
  let last = Array.length m - 1 in
  for k = 0 to last - 1 do
    Task.parallel_for pool ~start:(k + 1) ~finish:last ~body:(Lu.eliminate m k)
  done

let multiply pool (product : Kernels.product) =
  let finish = Array.length product.left - 1 in
  Task.parallel_for pool ~start:0 ~finish ~body:(Kernels.row_of_product product)

let numerical ~quick =
  let sized small large = if quick then small else large in
  [
    answer "spectral-norm" ~show:(Printf.sprintf "%h") (fun pool ->
        spectral_norm pool (sized 64 1500));
    program "life"
      (fun pool board -> board := life pool ~iterations:(sized 4 200) !board)
      ~prepare:(fun () -> ref (Life.random (sized 32 512)))
      ~digest:(fun board -> Kernels.show_board !board);
    program "nbody" (nbody ~iterations:(sized 2 20))
      ~prepare:(fun () -> Nbody.random (sized 64 1024))
      ~digest:(fun b -> Printf.sprintf "%h" (Nbody.energy b));
    program "nbody-128" (few_bodies ~iterations:(sized 10 4_000))
      ~prepare:(fun () -> Fork_union_nbody.random 128)
      ~digest:(fun system ->
        Printf.sprintf "%h" (Kernels.float_sum (Fork_union_nbody.positions system)));
    program "lu" lu ~prepare:(fun () -> Lu.random (sized 32 512)) ~digest:Kernels.show_matrix;
    program "matrix-multiply" multiply
      ~prepare:(Kernels.random_product (sized 32 400))
      ~digest:(fun p -> Kernels.show_matrix p.result);
  ]

(* ---- Loops, reductions and scans, long ones and many short ones ---- *)

let loops name ?fine ?chunk_size ?(body = Kernels.add_to) ~size ~rounds () =
  let digest a = string_of_int (Array.fold_left ( + ) 0 a) in
  program name ?fine ~digest ~prepare:(fun () -> Array.make size 0)
    (fun pool a ->
      times rounds (fun () ->
          Task.parallel_for ?chunk_size pool ~start:0 ~finish:(size - 1) ~body:(body a)))

let reduce name ?fine ~size ~rounds () =
  answer name ?fine ~show:(Printf.sprintf "%h") (fun pool ->
      let sum = ref 0. in
      times rounds (fun () ->
          sum := Task.parallel_for_reduce pool ( +. ) 0. ~start:1 ~finish:size ~body:Kernels.inverse);
      !sum)

let scan name ?fine ~size ~rounds () =
  answer name ?fine ~show:(fun a -> Digest.to_hex (Digest.string (Marshal.to_string a [])))
    (fun pool ->
      let input = Array.init size (fun i -> i) and result = ref [||] in
      times rounds (fun () -> result := Task.parallel_scan pool ( + ) input);
      !result)

(* Any of some four needles at random places, others in every round; whichever is found. *)
let find name ~size ~rounds =
  answer name ~show:string_of_int (fun pool ->
      let found = ref 0 and round = ref 0 in
      let body i = Kernels.needle ~round:!round ~size i in
      times rounds (fun () ->
          incr round;
          if Task.parallel_find pool ~start:0 ~finish:size ~body <> None then incr found);
      !found)

let ranges ~quick =
  let sized n = if quick then max 1 (n / 1000) else n in
  [
    loops "for-tiny" ~fine:true ~size:128 ~rounds:(sized 20_000) ();
    loops "for-chunks-of-1" ~fine:true ~chunk_size:1 ~size:1000 ~rounds:(sized 1_000) ();
    loops "for-long" ~body:Kernels.random_to ~size:(sized 1_000_000) ~rounds:(sized 20) ();
    reduce "reduce-tiny" ~fine:true ~size:128 ~rounds:(sized 20_000) ();
    reduce "reduce-long" ~size:(sized 1_000_000) ~rounds:(sized 30) ();
    scan "scan-tiny" ~fine:true ~size:20 ~rounds:(sized 20_000) ();
    scan "scan-short" ~size:100 ~rounds:(sized 20_000) ();
    scan "scan-long" ~size:(sized 1_000_000) ~rounds:(sized 15) ();
    find "find" ~size:(sized 1_000_000) ~rounds:(sized 100);
  ]

let all ~quick = recursive ~quick @ numerical ~quick @ ranges ~quick
