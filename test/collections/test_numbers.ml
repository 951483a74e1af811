(* Sums, products, means and extremes of numbers, against exact arithmetic. *)

open Harness
module A = Muster.Parallel.Array
module F = Muster.Parallel.Floatarray
module G = Muster.Parallel.Bigarray.Array1
module L = Muster.Parallel.List
module S = Muster.Parallel.Seq
module Pool = Muster.Pool

(* {2 Exact sums}

   A list of floats whose exact sum is that of all that were added, none of which overlaps another
   (Shewchuk): its first is the sum, but for a rounding. *)

let two_sum a b =
  let s = a +. b in
  let b' = s -. a in
  (s, a -. (s -. b') +. (b -. b'))

let rec add x = function
  | [] -> if x = 0. then [] else [ x ]
  | p :: partials ->
    let s, rest = two_sum x p in
    if rest = 0. then add s partials else rest :: add s partials

(* From the smallest to the largest. *)
let total partials = List.fold_left ( +. ) 0. partials

(* With the product's own rounding, which is a float. *)
let add_product x y partials =
  let p = x *. y in
  add p (add (Float.fma x y (-.p)) partials)

let exact_sum a = total (Array.fold_left (fun partials x -> add x partials) [] a)

let exact_dot a b =
  let partials = ref [] in
  Array.iteri (fun i x -> partials := add_product x b.(i) !partials) a;
  total !partials

(* {2 Inputs} *)

(* Around the ends of lanes, blocks, halves and parts. *)
let lengths =
  [ 0; 1; 2; 7; 8; 9; 127; 128; 129; 255; 257; 1_000; 8_191; 8_192; 8_193; 16_385; 100_003 ]

let state = Random.State.make [| 37 |]
let even _ = Random.State.float state 2. -. 1.

(* Of many orders of magnitude, and of both signs. *)
let uneven _ = ldexp (even 0) (Random.State.int state 60 - 30)
let cancelling i = if i land 1 = 0 then 1e16 *. even i else even i
let kinds = [ ("even", even); ("uneven", uneven); ("cancelling", cancelling) ]
let of_array kind layout a = Bigarray.Array1.of_array kind layout a
let float64 a = of_array Bigarray.float64 Bigarray.c_layout a
let float32 a = of_array Bigarray.float32 Bigarray.fortran_layout a
let ints a = of_array Bigarray.int Bigarray.fortran_layout a
let single x = Int32.float_of_bits (Int32.bits_of_float x)

let each_input check =
  let of_length n (name, number) =
    check (Printf.sprintf "%d %s numbers" n name) (Array.init n number) (Array.init n number)
  in
  List.iter (fun n -> List.iter (of_length n) kinds) lengths

(* {2 Bounds} *)

let u = ldexp 1. (-53)

let near what ~roundings ~magnitude n exact found =
  let log2 = Float.log2 (float_of_int (max 1 n)) in
  let bound = (roundings +. log2) *. u *. magnitude in
  let wrong = Float.abs (found -. exact) in
  if not (wrong <= bound) then failf "%s: %h instead of %h, off by %h" what found exact wrong

let magnitude a = exact_sum (Array.map Float.abs a)

let sums_are_near () =
  each_input @@ fun name a _ ->
  let n = Array.length a in
  let near = near name ~roundings:16. ~magnitude:(magnitude a) n (exact_sum a) in
  near (A.sum a);
  near (L.sum (Array.to_list a));
  near (S.sum (Array.to_seq a));
  Option.iter (fun mean -> check_equal (name ^ ", mean") (A.sum a /. float_of_int n) mean) (A.mean a);
  check_bool (name ^ ", mean of none") (n = 0) (A.mean a = None)

let products_are_near () =
  each_input @@ fun name a b ->
  let magnitude = exact_dot (Array.map Float.abs a) (Array.map Float.abs b) in
  near name ~roundings:17. ~magnitude (Array.length a) (exact_dot a b) (A.dot a b)

(* Products of floats of 32 bits are exact. *)
let singles_are_near () =
  each_input @@ fun name a b ->
  let a = Array.map single a and b = Array.map single b and n = Array.length a in
  near name ~roundings:16. ~magnitude:(magnitude a) n (exact_sum a) (G.sum (float32 a));
  let products = Array.map2 ( *. ) a b in
  let near = near (name ^ ", dot") ~roundings:16. ~magnitude:(magnitude products) n in
  near (exact_sum products) (G.dot (float32 a) (float32 b))

(* {2 Bits} *)

let bits = Int64.bits_of_float
let pair_bits = Option.map (fun (x, y) -> (bits x, bits y))

(* Everything that there is, of one input. *)
let all a b =
  let f = F.map_from_array Fun.id a and g = F.map_from_array Fun.id b in
  let d = float64 a and e = of_array Bigarray.float64 Bigarray.fortran_layout b in
  let s = float32 a and t = float32 b in
  let doubles =
    [
      (bits (A.sum a), bits (A.dot a b), Option.map bits (A.mean a), pair_bits (A.min_max a));
      (bits (F.sum f), bits (F.dot f g), Option.map bits (F.mean f), pair_bits (F.min_max f));
      (bits (G.sum d), bits (G.dot d e), Option.map bits (G.mean d), pair_bits (G.min_max d));
    ]
  in
  List.iter (check_equal "in arrays of each kind" (List.hd doubles)) doubles;
  let by_hand = (bits (L.sum (Array.to_list a)), bits (S.sum (Array.to_seq a))) in
  ( List.hd doubles,
    by_hand,
    (bits (G.sum s), bits (G.dot s t), Option.map bits (G.mean s), pair_bits (G.min_max s)) )

let same_bits () =
  each_input @@ fun name a b ->
  let here = all a b in
  List.iter
    (fun domains -> check_equal name here (run_on domains (fun () -> all a b)))
    [ 1; 2; 3; 8 ]

let is_shared () =
  let a = Array.init 3_000_000 float_of_int in
  with_domains 2 @@ fun pool ->
  Pool.run pool @@ fun () ->
  while (Pool.stats pool).forks = 0 do
    check_equal "exact" (3e6 *. 2_999_999. /. 2.) (A.sum a)
  done

(* {2 Ints} *)

let random_ints n = Array.init n (fun _ -> Random.State.bits state * Random.State.bits state * 16)

let ints_wrap_around () =
  let check n =
    let a = random_ints n and b = random_ints n in
    let v = ints a and w = of_array Bigarray.int Bigarray.c_layout b in
    let name = Printf.sprintf "%d ints" n in
    check_int (name ^ ", sum") (Array.fold_left ( + ) 0 a) (G.sum v);
    let sum = G.sum v in
    check_int (name ^ ", an array's sum") sum (A.sum_ints a);
    check_int (name ^ ", a list's sum") sum (L.sum_ints (Array.to_list a));
    check_int (name ^ ", a sequence's sum") sum (S.sum_ints (Array.to_seq a));
    check_int (name ^ ", dot") (Array.fold_left ( + ) 0 (Array.map2 ( * ) a b)) (G.dot v w);
    let extremes =
      if n = 0 then None
      else Some (Array.fold_left min max_int a, Array.fold_left max min_int a)
    in
    check_equal (name ^ ", min_max") extremes (G.min_max v);
    let floats = Array.map float_of_int a in
    check_equal (name ^ ", mean") (A.mean floats) (G.mean v)
  in
  List.iter check lengths;
  let ends = ints [| max_int; 1; min_int; max_int; -1 |] in
  check_int "wraps around" (max_int + 1 + min_int + max_int - 1) (G.sum ends);
  check_equal "the ends" (Some (min_int, max_int)) (G.min_max ends);
  check_equal "a mean does not" (Some (Float.of_int max_int)) (G.mean (ints (Array.make 4 max_int)))

(* {2 Numbers that are none, have no end or no sign} *)

let plain_extremes a =
  if a = [||] then None
  else Some (Array.fold_left Float.min a.(0) a, Array.fold_left Float.max a.(0) a)

let same_floats name expected found =
  let equal (a, b) (c, d) =
    (Float.is_nan a && Float.is_nan c) || (bits a = bits c && bits b = bits d)
  in
  check_bool name true (Option.equal equal expected found)

let check_extremes name a =
  let expected = plain_extremes a in
  same_floats name expected (A.min_max a);
  same_floats name expected (G.min_max (float64 a));
  same_floats (name ^ ", 32 bits") expected (G.min_max (float32 a))

(* One that is special at each place, among others that are not. *)
let special_at_each_place () =
  let check n number =
    for i = 0 to n - 1 do
      let special x =
        let a = Array.init n number in
        a.(i) <- x;
        check_extremes (Printf.sprintf "%h at %d of %d" x i n) a
      in
      List.iter special [ nan; -.nan; infinity; neg_infinity; 0.; -0. ]
    done
  in
  let numbers = [ (fun _ -> 0.); (fun _ -> -0.); (fun i -> float_of_int (i + 1)); (fun i -> float_of_int (-i - 1)) ] in
  List.iter (fun n -> List.iter (check n) numbers) [ 1; 2; 8; 9; 23 ];
  let far = Array.make 20_000 0. in
  far.(19_999) <- -0.;
  check_extremes "in the last part" far;
  far.(0) <- nan;
  check_extremes "in the first part" far

let sums_of_specials () =
  let check name expected a =
    let same what found =
      let same = if Float.is_nan expected then Float.is_nan found else bits found = bits expected in
      check_bool (name ^ what) true same
    in
    same "" (A.sum a);
    same ", list" (L.sum (Array.to_list a));
    same ", seq" (S.sum (Array.to_seq a));
    same ", 32 bits" (G.sum (float32 a));
    same ", dot" (A.dot a (Array.make (Array.length a) 1.))
  in
  check "nothing" 0. [||];
  check "a zero with a sign" 0. [| -0. |];
  check "many" 0. (Array.make 9_000 (-0.));
  check "infinity" infinity [| 1.; infinity; -5. |];
  check "negative infinity" neg_infinity [| 1.; neg_infinity; -5. |];
  check "both" nan [| infinity; 1.; neg_infinity |];
  check "nan" nan (Array.init 9_000 (fun i -> if i = 8_999 then nan else 1.));
  check_equal "too large" infinity (A.sum [| max_float; max_float |]);
  check_equal "the smallest" 1e-323 (A.sum [| 5e-324; 5e-324 |])

(* {2 Views} *)

let views () =
  let n = 20_000 in
  let whole = G.init Bigarray.float64 Bigarray.c_layout n float_of_int in
  check_equal "a part" (A.sum (Array.init 15_000 (fun i -> float_of_int (i + 77))))
    (G.sum (G.sub whole 77 15_000));
  let square = Bigarray.Array2.init Bigarray.float64 Bigarray.c_layout 100 200 (fun i j -> float_of_int ((200 * i) + j)) in
  let all = Bigarray.(reshape_1 (genarray_of_array2 square) n) in
  check_equal "a matrix" (G.sum whole) (G.sum all);
  check_equal "another layout" (G.sum whole) (G.sum (Bigarray.Array1.change_layout whole Bigarray.fortran_layout))

let is_cancelled () =
  let a = Array.make 3_000_000 1. in
  let sums scope =
    Muster.Task.cancel_scope scope;
    A.sum a
  in
  check_raises "told" Muster.Task.Cancelled (fun () ->
      run_on 2 (fun () -> ignore (Muster.Task.scope sums)));
  (* Within a sum by the caller alone, too: nothing else would end this one. *)
  let rec ones = 1. :: ones and ints = 1 :: ints in
  let ends what sum =
    check_raises what Muster.Task.Deadline_exceeded (fun () ->
        run_on 2 (fun () -> Muster.Task.with_deadline 0.02 sum))
  in
  ends "a list" (fun () -> ignore (L.sum ones));
  ends "a list of ints" (fun () -> ignore (L.sum_ints ints));
  ends "a sequence" (fun () -> ignore (S.sum (Stdlib.Seq.repeat 1.)));
  ends "a sequence of ints" (fun () -> ignore (S.sum_ints (Stdlib.Seq.repeat 1)))

let () =
  Alcotest.run "numbers"
    [
      ( "against exact arithmetic",
        [
          case "sums and means" sums_are_near;
          case "products" products_are_near;
          case "floats of 32 bits" singles_are_near;
          case "ints wrap around" ints_wrap_around;
        ] );
      ( "bits",
        [
          case "the same on 1, 2, 3 and 8 domains" same_bits;
          case "nans, infinities and zeros among others" special_at_each_place;
          case "sums of these" sums_of_specials;
          case "views" views;
        ] );
      ("calls", [ case "a long sum is shared" is_shared; case "a cancelled task is told" is_cancelled ]);
    ]
