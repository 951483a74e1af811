(* Bad arguments of the collections. Where the stdlib has the function, the exception is the
   stdlib's, which is asked for it. *)

open Bad_case
module A = Muster.Parallel.Array
module F = Muster.Parallel.Floatarray
module B = Muster.Parallel.Bytes
module S = Muster.Parallel.String
module L = Muster.Parallel.List
module Q = Muster.Parallel.Seq
module G = Muster.Parallel.Bigarray.Array1
module G2 = Muster.Parallel.Bigarray.Array2
module Std = Stdlib

let two = [| 1; 2 |]
let three = [| 1; 2; 3 |]
let beyond_all = Sys.max_array_length + 1
let words names = Std.String.split_on_char ' ' names
let harmless prefix names = Std.List.map (fun name -> prefix ^ "." ^ name) (words names)
let zero _ = 0

(* Lengths that no array has. *)
let lengths fn stdlib's ours =
  let bad n =
    as_stdlib's (Printf.sprintf "%s (%d)" fn n) (fun () -> stdlib's n) (fun () -> ours n)
  in
  Std.List.map bad [ -1; min_int; max_int ]

let bins fn histogram =
  let bad n what value =
    invalid
      (Printf.sprintf "%s ~bins:(%d), for a bin %d" fn n value)
      (fun () -> ignore (histogram n value))
      (Printf.sprintf "%s: %s" fn what)
  in
  let range bin n = Printf.sprintf "bin = %d is not less than bins = %d, or negative" bin n in
  [
    bad (-1) "bins = -1 is negative" 0;
    bad min_int (Printf.sprintf "bins = %d is negative" min_int) 0;
    bad beyond_all (Printf.sprintf "bins = %d is more than Sys.max_array_length" beyond_all) 0;
    bad 2 (range 2 2) 2;
    bad 2 (range (-1) 2) (-1);
    bad 0 (range 0 0) 0;
  ]

(* Sums and the like, of nothing. *)
let numbers fn ~sum ~mean ~extremes =
  [
    fine (fn ^ "sum, of nothing") 0. sum;
    fine (fn ^ "mean, of nothing") None mean;
    fine (fn ^ "min_max, of nothing") None extremes;
  ]

let of_empty fn f = fine (fn ^ ", of nothing") None f

(* Two of these are told apart by [compare] alone, which cannot. *)
let function_key _ =
  let calls = ref 0 in
  fun () -> incr calls

let by_functions fn group =
  raises
    (fn ^ ", for keys with functions that hash alike")
    (fun () -> group ())
    (Invalid_argument "compare: functional value")

(* {2 Arrays} *)

let array_lengths_differ =
  let rows fn stdlib's ours =
    let bad call a b = as_stdlib's (fn ^ call) (fun () -> stdlib's a b) (fun () -> ours a b) in
    [ bad " f, lengths 2 and 3" two three; bad " f, lengths 0 and 3" [||] three ]
  in
  rows "Parallel.Array.map2" (Std.Array.map2 ( + )) (A.map2 ( + ))
  @ rows "Parallel.Array.combine" Std.Array.combine A.combine
  @ rows "Parallel.Array.iter2" (Std.Array.iter2 (fun _ _ -> ())) (A.iter2 (fun _ _ -> ()))
  @ rows "Parallel.Array.exists2" (Std.Array.exists2 ( = )) (A.exists2 ( = ))
  @ rows "Parallel.Array.for_all2" (Std.Array.for_all2 ( = )) (A.for_all2 ( = ))

let arrays =
  {
    title = "Parallel.Array";
    rows =
      lengths "Parallel.Array.init" (fun n -> Std.Array.init n Fun.id) (fun n -> A.init n Fun.id)
      @ [
          as_stdlib's "Parallel.Array.init Sys.max_array_length"
            (fun () -> Std.Array.init Sys.max_array_length Fun.id)
            (fun () -> A.init Sys.max_array_length Fun.id);
        ]
      @ array_lengths_differ
      @ bins "Parallel.Array.histogram" (fun bins bin -> A.histogram ~bins (fun _ -> bin) three)
      @ [
          by_functions "Parallel.Array.group_by" (fun () -> ignore (A.group_by function_key three));
          invalid "Parallel.Array.dot, lengths 2 and 0"
            (fun () -> ignore (A.dot [| 1.; 2. |] [||]))
            "Parallel.Array.dot: lengths = 2 and 0 differ";
          of_empty "Parallel.Array.reduce" (fun () -> A.reduce ( + ) [||]);
          of_empty "Parallel.Array.min" (fun () -> A.min compare [||]);
          of_empty "Parallel.Array.max" (fun () -> A.max compare [||]);
          fine "Parallel.Array.dot, of nothing" 0. (fun () -> A.dot [||] [||]);
          fine "Parallel.Array.sum_ints, of nothing" 0 (fun () -> A.sum_ints [||]);
          fine "Parallel.Array.fold_parts, of nothing" 7 (fun () ->
              A.fold_parts ~init:(fun () -> 7) ~add:( + ) ~combine:( + ) [||]);
          fine "Parallel.Array.map_reduce, of nothing" 7 (fun () ->
              A.map_reduce ~combine:( + ) ~init:7 Fun.id [||]);
          fine "Parallel.Array.scan, of nothing" [||] (fun () -> A.scan ( + ) [||]);
          fine "Parallel.Array.histogram ~bins:0, of nothing" [||] (fun () -> A.histogram ~bins:0 zero [||]);
        ]
      @ numbers "Parallel.Array."
          ~sum:(fun () -> A.sum [||])
          ~mean:(fun () -> A.mean [||])
          ~extremes:(fun () -> A.min_max [||]);
    harmless =
      harmless "Parallel.Array"
        "map_init map mapi map_inplace mapi_inplace split iter iteri fold count exists for_all mem memq \
         find_opt find_index find_map find_mapi filter partition filter_map concat_map sort \
         stable_sort fast_sort sort_uniq";
  }

let floatarrays =
  let f2 = F.of_list [ 1.; 2. ] and f3 = F.of_list [ 1.; 2.; 3. ] in
  let differ fn stdlib's ours =
    as_stdlib's (fn ^ " f, lengths 2 and 3") (fun () -> stdlib's f2 f3) (fun () -> ours f2 f3)
  in
  let nothing = F.create 0 and none _ _ = () in
  {
    title = "Parallel.Floatarray";
    rows =
      lengths "Parallel.Floatarray.init" (fun n -> Std.Float.Array.init n float) (fun n -> F.init n float)
      @ [
          differ "Parallel.Floatarray.map2" (Std.Float.Array.map2 ( +. )) (F.map2 ( +. ));
          differ "Parallel.Floatarray.iter2" (Std.Float.Array.iter2 none) (F.iter2 none);
        ]
      @ bins "Parallel.Floatarray.histogram" (fun bins bin -> F.histogram ~bins (fun _ -> bin) f3)
      @ [
          by_functions "Parallel.Floatarray.group_by" (fun () -> ignore (F.group_by function_key f3));
          invalid "Parallel.Floatarray.dot, lengths 2 and 3"
            (fun () -> ignore (F.dot f2 f3))
            "Parallel.Floatarray.dot: lengths = 2 and 3 differ";
          of_empty "Parallel.Floatarray.reduce" (fun () -> F.reduce ( +. ) nothing);
          of_empty "Parallel.Floatarray.min" (fun () -> F.min compare nothing);
          of_empty "Parallel.Floatarray.max" (fun () -> F.max compare nothing);
          fine "Parallel.Floatarray.scan, of nothing" 0 (fun () -> F.length (F.scan ( +. ) nothing));
        ]
      @ numbers "Parallel.Floatarray."
          ~sum:(fun () -> F.sum nothing)
          ~mean:(fun () -> F.mean nothing)
          ~extremes:(fun () -> F.min_max nothing);
    harmless =
      harmless "Parallel.Floatarray"
        "fold_parts map_reduce map_init map mapi map_inplace mapi_inplace map_to_array map_from_array iter iteri fold count \
         exists for_all mem mem_ieee find_opt find_index find_map find_mapi filter partition \
         filter_map concat_map sort stable_sort fast_sort sort_uniq";
  }

(* {2 Bigarrays} *)

let bigarrays =
  let of_list l = G.of_array Int C_layout (Std.Array.of_list l) in
  let init n = G.init Int C_layout n Fun.id in
  let fn = "Parallel.Bigarray.Array1." in
  let of_empty name f = of_empty (fn ^ name) (fun () -> f (of_list [])) in
  let matrix m n = G2.init Int C_layout m n (fun _ -> raise Exit) in
  let plain m n = Std.Bigarray.(Array2.init Int C_layout m n (fun _ -> raise Exit)) in
  let no_floats = G.create Float32 Fortran_layout 0 in
  let other name f =
    invalid
      (fn ^ name ^ ", of characters")
      (fun () -> f (G.create Char C_layout 2))
      (Printf.sprintf "%s%s: the kind is not float64, float32 or int" fn name)
  in
  {
    title = "Bigarray";
    rows =
      [
        as_stdlib's (fn ^ "init kind layout (-1)")
          (fun () -> Std.Bigarray.(Array1.init Int C_layout (-1) Fun.id))
          (fun () -> init (-1));
        as_stdlib's (fn ^ "init kind layout max_int")
          (fun () -> Std.Bigarray.(Array1.init Int C_layout max_int Fun.id))
          (fun () -> init max_int);
        invalid
          (fn ^ "map2 f, dimensions 2 and 3")
          (fun () -> ignore (G.map2 ( + ) (of_list [ 1; 2 ]) (of_list [ 1; 2; 3 ])))
          "Parallel.Bigarray.Array1.map2: dimensions = 2 and 3 differ";
      ]
      @ bins (fn ^ "histogram") (fun bins bin ->
          G.histogram ~bins (fun _ -> bin) (of_list [ 1; 2 ]))
      @ [
          by_functions (fn ^ "group_by") (fun () ->
              ignore (G.group_by function_key (of_list [ 1; 2 ])));
          of_empty "reduce" (G.reduce ( + ));
          of_empty "min" (G.min compare);
          of_empty "max" (G.max compare);
          fine (fn ^ "scan, of nothing") 0 (fun () -> G.dim (G.scan ( + ) (of_list [])));
          invalid
            (fn ^ "dot, dimensions 2 and 3")
            (fun () -> ignore (G.dot (of_list [ 1; 2 ]) (of_list [ 1; 2; 3 ])))
            "Parallel.Bigarray.Array1.dot: dimensions = 2 and 3 differ";
          other "sum" (fun a -> ignore (G.sum a));
          other "dot" (fun a -> ignore (G.dot a a));
          other "mean" (fun a -> ignore (G.mean a));
          other "min_max" (fun a -> ignore (G.min_max a));
        ]
      @ Std.List.map
          (fun (m, n) ->
            as_stdlib's
              (Printf.sprintf "Parallel.Bigarray.Array2.init kind layout (%d) (%d)" m n)
              (fun () -> plain m n)
              (fun () -> matrix m n))
          [ (-1, 2); (2, -1); (min_int, 0); (max_int, 2) ]
      @ [
          fine "Parallel.Bigarray.Array2.init kind layout 0 2" 2 (fun () -> G2.dim2 (matrix 0 2));
        ]
      @ numbers fn
          ~sum:(fun () -> G.sum no_floats)
          ~mean:(fun () -> G.mean no_floats)
          ~extremes:(fun () -> G.min_max no_floats);
    harmless =
      harmless "Parallel.Bigarray.Array2" "iteri_rows mapi_rows"
      @ harmless "Parallel.Bigarray.Array1"
        "fold_parts map_reduce map_init of_array map map_to mapi map_inplace map_to_array iter iteri fold count exists for_all \
         mem find_opt find_index find_map find_mapi filter partition filter_map concat_map sort \
         stable_sort sort_uniq";
  }

(* {2 Characters} *)

let char i = Char.chr (i land 127)

let bytes =
  let abc = B.of_string "abc" in
  {
    title = "Parallel.Bytes";
    rows =
      lengths "Parallel.Bytes.init" (fun n -> Std.Bytes.init n char) (fun n -> B.init n char)
      @ [
          as_stdlib's "Parallel.Bytes.index b c, where there is none"
            (fun () -> Std.Bytes.index abc 'd')
            (fun () -> B.index abc 'd');
        ];
    harmless = harmless "Parallel.Bytes" "map mapi iter iteri exists for_all contains index_opt";
  }

let strings =
  {
    title = "Parallel.String";
    rows =
      lengths "Parallel.String.init" (fun n -> Std.String.init n char) (fun n -> S.init n char)
      @ [
          as_stdlib's "Parallel.String.index s c, where there is none"
            (fun () -> Std.String.index "abc" 'd')
            (fun () -> S.index "abc" 'd');
        ];
    harmless = harmless "Parallel.String" "map mapi iter iteri exists for_all contains index_opt";
  }

(* {2 Lists and sequences} *)

let lists =
  let init n = as_stdlib's (Printf.sprintf "Parallel.List.init (%d)" n) in
  let differ a b =
    as_stdlib's
      (Printf.sprintf "Parallel.List.map2 f, lengths %d and %d" (Std.List.length a) (Std.List.length b))
      (fun () -> Std.List.map2 ( + ) a b)
      (fun () -> L.map2 ( + ) a b)
  in
  let of_empty name f = of_empty ("Parallel.List." ^ name) (fun () -> f []) in
  {
    title = "Parallel.List";
    rows =
      Std.List.map
        (fun n -> init n (fun () -> Std.List.init n Fun.id) (fun () -> L.init n Fun.id))
        [ -1; min_int ]
      @ [
          differ [] [ 1; 2 ];
          differ [ 1; 2 ] [ 1; 2; 3 ];
          as_stdlib's "Parallel.List.find, where there is none"
            (fun () -> Std.List.find (( = ) 4) [ 1; 2; 3 ])
            (fun () -> L.find (( = ) 4) [ 1; 2; 3 ]);
        ]
      @ bins "Parallel.List.histogram" (fun bins bin -> L.histogram ~bins (fun _ -> bin) [ 1; 2 ])
      @ [
          by_functions "Parallel.List.group_by" (fun () -> ignore (L.group_by function_key [ 1; 2 ]));
          of_empty "reduce" (L.reduce ( + ));
          of_empty "min" (L.min compare);
          of_empty "max" (L.max compare);
          fine "Parallel.List.scan, of nothing" [] (fun () -> L.scan ( + ) []);
          fine "Parallel.List.sum, of nothing" 0. (fun () -> L.sum []);
          fine "Parallel.List.sum_ints, of nothing" 0 (fun () -> L.sum_ints []);
          fine "Parallel.List.fold_parts, of nothing" 7 (fun () ->
              L.fold_parts ~init:(fun () -> 7) ~add:( + ) ~combine:( + ) []);
          fine "Parallel.List.map_reduce, of nothing" 7 (fun () ->
              L.map_reduce ~combine:( + ) ~init:7 Fun.id []);
        ];
    harmless =
      harmless "Parallel.List"
        "map_init map mapi filter find_all filteri filter_map concat_map partition iter iteri fold count \
         find_opt find_index find_map find_mapi exists for_all mem memq sort stable_sort fast_sort \
         sort_uniq";
  }

let seqs =
  let some = Std.List.to_seq [ 1; 2 ] in
  let of_empty name f = of_empty ("Parallel.Seq." ^ name) (fun () -> f Q.empty) in
  {
    title = "Parallel.Seq";
    rows =
      bins "Parallel.Seq.histogram" (fun bins bin -> Q.histogram ~bins (fun _ -> bin) some)
      @ [
          by_functions "Parallel.Seq.group_by" (fun () -> Q.iter ignore (Q.group_by function_key some));
          of_empty "reduce" (Q.reduce ( + ));
          of_empty "min" (Q.min compare);
          of_empty "max" (Q.max compare);
          fine "Parallel.Seq.sum, of nothing" 0. (fun () -> Q.sum Q.empty);
          fine "Parallel.Seq.sum_ints, of nothing" 0 (fun () -> Q.sum_ints Q.empty);
          fine "Parallel.Seq.fold_parts, of nothing" 7 (fun () ->
              Q.fold_parts ~init:(fun () -> 7) ~add:( + ) ~combine:( + ) Q.empty);
          fine "Parallel.Seq.map_reduce, of nothing" 7 (fun () ->
              Q.map_reduce ~combine:( + ) ~init:7 Fun.id Q.empty);
        ];
    harmless = harmless "Parallel.Seq" "iter iteri fold count find_opt mem sort stable_sort sort_uniq";
  }

let tables = [ arrays; floatarrays; bigarrays; bytes; strings; lists; seqs ]
