(* The functions that only some collections have, of few elements. *)

open Harness

exception Boom of int

let lengths = [ 0; 1; 2; 3; 7; 40 ]
let values n = List.init n (fun i -> i * 37 mod 11)
let of_each name check = case name (fun () -> run_on 2 (fun () -> List.iter check lengths))
let twice x = [ x; x ]
let from v x = if x >= v then Some (x + 1) else None
let from_i v i x = if x >= v then Some (i + x) else None

let pairs f a b =
  let sum = Atomic.make 0 in
  f (fun x y -> ignore (Atomic.fetch_and_add sum ((x * 11) + y))) a b;
  Atomic.get sum

let sum_of_pairs l = List.fold_left (fun sum x -> sum + (x * 11) + x) 0 l

(* The index of the first that has one. *)
let find_mapi f l = List.find_map (fun (i, x) -> f i x) (List.mapi (fun i x -> (i, x)) l)

let lists n =
  let module L = Muster.Parallel.List in
  let l = values n in
  let even i x = (i + x) land 1 = 0 in
  check_equal "init" l (L.init n (fun i -> i * 37 mod 11));
  check_equal "filteri" (List.filteri even l) (L.filteri even l);
  check_equal "find_all" (List.filter (( < ) 4) l) (L.find_all (( < ) 4) l);
  check_equal "concat_map" (List.concat_map twice l) (L.concat_map twice l);
  check_equal "sort" (List.sort compare l) (L.sort compare l);
  check_equal "fast_sort" (List.sort compare l) (L.fast_sort compare l);
  List.iter
    (fun v ->
      check_equal "find"
        (outcome (fun () -> List.find (( = ) v) l))
        (outcome (fun () -> L.find (( = ) v) l));
      check_equal "find_map" (List.find_map (from v) l) (L.find_map (from v) l);
      check_equal "find_mapi" (find_mapi (from_i v) l) (L.find_mapi (from_i v) l);
      check_equal "memq" (List.memq v l) (L.memq v l))
    [ 0; 4; 12 ]

let arrays n =
  let module A = Muster.Parallel.Array in
  let l = values n in
  let a = Array.of_list l in
  let changed f =
    let b = Array.copy a in
    f b;
    Array.to_list b
  in
  check_equal "init" a (A.init n (fun i -> i * 37 mod 11));
  check_equal "map_inplace" (List.map succ l) (changed (A.map_inplace succ));
  check_equal "mapi_inplace" (List.mapi ( + ) l) (changed (A.mapi_inplace ( + )));
  check_equal "combine" (Array.combine a a) (A.combine a a);
  check_equal "split" (a, a) (A.split (Array.combine a a));
  check_equal "iter2" (sum_of_pairs l) (pairs A.iter2 a a);
  check_equal "concat_map" (List.concat_map twice l)
    (Array.to_list (A.concat_map (fun x -> [| x; x |]) a));
  check_equal "sort" (List.sort compare l) (changed (A.sort compare));
  List.iter
    (fun v ->
      check_equal "find_map" (List.find_map (from v) l) (A.find_map (from v) a);
      check_equal "find_mapi" (find_mapi (from_i v) l) (A.find_mapi (from_i v) a);
      check_equal "exists2" (List.mem v l) (A.exists2 (fun x y -> x + y = 2 * v) a a);
      check_equal "for_all2" (List.for_all (( = ) v) l) (A.for_all2 (fun x y -> x + y = 2 * v) a a);
      check_equal "memq" (List.memq v l) (A.memq v a))
    [ 0; 4; 12 ]

let floatarrays n =
  let module F = Muster.Parallel.Floatarray in
  let l = values n in
  let a = F.of_list (List.map float_of_int l) in
  let ints a = List.map int_of_float (F.to_list a) in
  let on f x = float_of_int (f (int_of_float x)) in
  let changed f =
    let b = F.copy a in
    f b;
    ints b
  in
  check_equal "init" l (ints (F.init n (fun i -> float_of_int (i * 37 mod 11))));
  check_equal "map_inplace" (List.map succ l) (changed (F.map_inplace (on succ)));
  check_equal "mapi_inplace" (List.mapi ( + ) l) (changed (F.mapi_inplace (fun i -> on (( + ) i))));
  check_equal "map_from_array" l (ints (F.map_from_array float_of_int (Array.of_list l)));
  let iter2 f = F.iter2 (fun x y -> f (int_of_float x) (int_of_float y)) in
  check_equal "iter2" (sum_of_pairs l) (pairs iter2 a a);
  check_equal "concat_map" (List.concat_map twice l) (ints (F.concat_map (F.make 2) a));
  check_equal "concat_map to nothing" (F.create 0) (F.concat_map (fun _ -> F.create 0) a);
  check_equal "sort" (List.sort compare l) (changed (F.sort compare));
  List.iter
    (fun v ->
      let float = float_of_int v in
      check_equal "mem_ieee" (List.mem v l) (F.mem_ieee float a);
      check_equal "find_map"
        (List.find_map (from v) l)
        (F.find_map (fun x -> from v (int_of_float x)) a);
      check_equal "find_mapi"
        (find_mapi (from_i v) l)
        (F.find_mapi (fun i x -> from_i v i (int_of_float x)) a))
    [ 0; 4; 12 ];
  check_equal "mem_ieee nan" false (F.mem_ieee nan (F.make n nan))

(* Rows and elements of both layouts, and what raises. *)
let matrices n =
  let module M = Muster.Parallel.Bigarray.Array2 in
  let check_layout : type c. c Bigarray.layout -> int -> unit =
   fun layout m ->
    let f i j = if i = 5 && j >= 2 then raise (Boom ((100 * i) + j)) else (100 * i) + j in
    let cells init = outcome (fun () -> init Bigarray.int layout m n f) in
    check_equal "init" (cells Bigarray.Array2.init) (cells M.init)
  in
  let check m =
    check_layout Bigarray.c_layout m;
    check_layout Bigarray.fortran_layout m;
    let a = M.init Float64 C_layout m n (fun i j -> float_of_int ((n * i) + j)) in
    let sum i row =
      let sum = ref (float_of_int i) in
      for j = 0 to n - 1 do
        sum := !sum +. row.{j}
      done;
      !sum
    in
    let sums = Array.init m (fun i ->
          let row = Bigarray.Array1.init Float64 C_layout n (fun j -> a.{i, j}) in
          sum i row)
    in
    check_equal "mapi_rows" sums (M.mapi_rows sum a);
    M.iteri_rows (fun i row -> Bigarray.Array1.fill row (float_of_int i)) a;
    for i = 0 to m - 1 do
      for j = 0 to n - 1 do
        check_equal "iteri_rows" (float_of_int i) a.{i, j}
      done
    done;
    let fail i _ = if i >= 3 then raise (Boom i) in
    let expected = if m > 3 then Error (Boom 3) else Ok () in
    check_equal "iteri_rows, raises" expected (outcome (fun () -> M.iteri_rows fail a))
  in
  List.iter check [ 0; 1; 2; 7; 40 ]

(* All slices of an array share one count of those who have its memory: else it is freed twice. *)
let fresh_matrices () =
  let module M = Muster.Parallel.Bigarray.Array2 in
  for round = 1 to 3_000 do
    let a = Bigarray.Array2.create Int C_layout 4 8 in
    M.iteri_rows
      (fun i row ->
        if round land 1 = 0 then Unix.sleepf 0.000_01;
        Bigarray.Array1.fill row (round + i))
      a;
    for i = 0 to 3 do
      check_int "written" (round + i) a.{i, 7}
    done;
    if round land 255 = 0 then Gc.full_major ()
  done

let characters n =
  let module B = Muster.Parallel.Bytes in
  let module S = Muster.Parallel.String in
  let s = String.init n (fun i -> Char.chr (97 + (i * 37 mod 11))) in
  let b = Bytes.of_string s in
  let next c = Char.chr (Char.code c + 1) and of_even c = Char.code c land 1 = 0 in
  let shifted i c = Char.chr (Char.code c + (i land 3)) in
  check_equal "init" b (B.init n (fun i -> s.[i]));
  check_equal "String.init" s (S.init n (fun i -> s.[i]));
  check_equal "map" (Bytes.map next b) (B.map next b);
  check_equal "String.map" (String.map next s) (S.map next s);
  check_equal "mapi" (Bytes.mapi shifted b) (B.mapi shifted b);
  check_equal "String.mapi" (String.mapi shifted s) (S.mapi shifted s);
  check_equal "exists" (String.exists of_even s) (B.exists of_even b);
  check_equal "String.exists" (String.exists of_even s) (S.exists of_even s);
  check_equal "for_all" (String.for_all of_even s) (B.for_all of_even b);
  check_equal "String.for_all" (String.for_all of_even s) (S.for_all of_even s);
  let seen iter =
    let seen = Bytes.make n '-' in
    iter (Bytes.set seen);
    seen
  in
  check_equal "iteri" b (seen (fun set -> B.iteri set b));
  check_equal "String.iteri" b (seen (fun set -> S.iteri set s));
  List.iter
    (fun c ->
      check_equal "index_opt" (String.index_opt s c) (B.index_opt b c);
      check_equal "String.index_opt" (String.index_opt s c) (S.index_opt s c);
      let index = outcome (fun () -> String.index s c) in
      check_equal "index" index (outcome (fun () -> B.index b c));
      check_equal "String.index" index (outcome (fun () -> S.index s c));
      check_equal "contains" (String.contains s c) (B.contains b c);
      check_equal "String.contains" (String.contains s c) (S.contains s c))
    [ 'a'; 'e'; 'z' ]

let bigarrays n =
  let module G = Muster.Parallel.Bigarray.Array1 in
  let l = values n in
  let list a = List.init (G.dim a) (fun i -> G.get a (i + 1)) in
  let of_list l = G.of_array Int Fortran_layout (Array.of_list l) in
  let a = of_list l in
  let changed f =
    let b = of_list l in
    f b;
    list b
  in
  check_equal "init, from 1" l (list (G.init Int Fortran_layout n (fun i -> (i - 1) * 37 mod 11)));
  check_equal "map_to" l (List.map int_of_float (list (G.map_to Float64 float_of_int a)));
  check_equal "map_inplace" (List.map succ l) (changed (G.map_inplace succ));
  check_equal "mapi, from 1" (List.mapi (fun i x -> i + 1 + x) l) (list (G.mapi ( + ) a));
  check_equal "sort" (List.sort compare l) (changed (G.sort compare));
  List.iter
    (fun v ->
      check_equal "find_map" (List.find_map (from v) l) (G.find_map (from v) a);
      check_equal "find_mapi, from 1"
        (find_mapi (fun i -> from_i v (i + 1)) l)
        (G.find_mapi (from_i v) a))
    [ 0; 4; 12 ]

let sequences n =
  let module S = Muster.Parallel.Seq in
  let l = values n in
  let s = List.to_seq l in
  let seen = Array.make n (-1) in
  S.iteri (fun i x -> seen.(i) <- x) s;
  check_equal "iteri" l (Array.to_list seen);
  check_equal "fold" (List.fold_left Int.max 3 l) (S.fold Int.max 3 s);
  let op x y = if x = 12 then raise (Boom 0) else if y = 4 then raise (Boom 1) else Int.max x y in
  check_equal "fold, raising"
    (if n = 0 then -1 else 0)
    (match S.fold op 12 s with _ -> -1 | exception Boom i -> i);
  check_equal "count" (List.length (List.filter (( < ) 4) l)) (S.count (( < ) 4) s);
  check_equal "reduce"
    (if n = 0 then None else Some (List.fold_left Int.max 0 l))
    (S.reduce Int.max s);
  check_equal "min" (if n = 0 then None else Some (List.fold_left Int.min 12 l)) (S.min compare s);
  check_equal "sort" (List.sort compare l) (List.of_seq (S.sort compare s));
  check_equal "sort_uniq" (List.sort_uniq compare l) (List.of_seq (S.sort_uniq compare s));
  check_equal "histogram" n (Array.fold_left ( + ) 0 (S.histogram ~bins:11 Fun.id s));
  (* One element, and then a failure. *)
  let failing = Seq.append (List.to_seq [ 1 ]) (fun () -> raise Exit) in
  let called = ref [] in
  check_raises "iter" Exit (fun () -> S.iter (fun x -> called := x :: !called) failing);
  check_raises "iteri" Exit (fun () -> S.iteri (fun i x -> called := (i + x) :: !called) failing);
  check_equal "what came before" [ 1; 1 ] !called

let cases =
  [
    of_each "List" lists;
    of_each "Array" arrays;
    of_each "Floatarray" floatarrays;
    of_each "Bigarray.Array2" matrices;
    case "rows of new arrays" (fun () -> run_on 3 fresh_matrices);
    of_each "Bytes and String" characters;
    case "long Bytes and String" (fun () -> run_on 2 (fun () -> characters 5_000));
    of_each "Bigarray, from 1" bigarrays;
    of_each "Seq" sequences;
  ]
