(* Collections of no or one element cost what the stdlib's do; and programs written for the
   stdlib's modules move over. *)

open Harness

let calls = 100

let words f =
  ignore (Sys.opaque_identity (f ()));
  let before = Gc.minor_words () in
  for _ = 1 to calls do
    ignore (Sys.opaque_identity (f ()))
  done;
  Gc.minor_words () -. before

let no_more name ours theirs =
  let check n =
    let ours = words (fun () -> ours n) and theirs = words (fun () -> theirs n) in
    if ours > theirs then
      failf "%s, n = %d: %.0f words in %d calls, the stdlib's %.0f" name n ours calls theirs
  in
  case name (fun () -> List.iter check [ 0; 1 ])

let p x = x > 0
let some x = if x > 0 then Some x else None
let pair x y = x < y
let twice x = [| x; x |]
let twice_list x = [ x; x ]

let arrays =
  let module A = Muster.Parallel.Array in
  let inputs = [| [||]; [| 7 |] |] in
  let input n = inputs.(n) in
  let each name ours theirs = no_more name (fun n -> ours (input n)) (fun n -> theirs (input n)) in
  let by_list f a = Array.of_list (f (Array.to_list a)) in
  let partition a =
    let l, r = List.partition p (Array.to_list a) in
    (Array.of_list l, Array.of_list r)
  in
  [
    no_more "init" (fun n -> A.init n succ) (fun n -> Array.init n succ);
    each "map" (A.map succ) (Array.map succ);
    each "mapi" (A.mapi ( + )) (Array.mapi ( + ));
    each "map2" (fun a -> A.map2 ( + ) a a) (fun a -> Array.map2 ( + ) a a);
    each "map_inplace" (A.map_inplace succ) (Array.map_inplace succ);
    each "mapi_inplace" (A.mapi_inplace ( + )) (Array.mapi_inplace ( + ));
    each "combine" (fun a -> A.combine a a) (fun a -> Array.combine a a);
    each "iter" (A.iter ignore) (Array.iter ignore);
    each "iteri" (A.iteri (fun _ _ -> ())) (Array.iteri (fun _ _ -> ()));
    each "iter2" (fun a -> A.iter2 (fun _ _ -> ()) a a) (fun a -> Array.iter2 (fun _ _ -> ()) a a);
    each "fold" (A.fold ( + ) 0) (Array.fold_left ( + ) 0);
    each "count" (A.count p) (Array.fold_left (fun n x -> n + Bool.to_int (p x)) 0);
    each "scan" (A.scan ( + )) Array.copy;
    each "exists" (A.exists p) (Array.exists p);
    each "for_all" (A.for_all p) (Array.for_all p);
    each "exists2" (fun a -> A.exists2 pair a a) (fun a -> Array.exists2 pair a a);
    each "for_all2" (fun a -> A.for_all2 pair a a) (fun a -> Array.for_all2 pair a a);
    each "mem" (A.mem 7) (Array.mem 7);
    each "memq" (A.memq 7) (Array.memq 7);
    each "find_opt" (A.find_opt p) (Array.find_opt p);
    each "find_index" (A.find_index p) (Array.find_index p);
    each "find_map" (A.find_map some) (Array.find_map some);
    each "find_mapi" (A.find_mapi (fun _ x -> some x)) (Array.find_mapi (fun _ x -> some x));
    each "filter" (A.filter p) (by_list (List.filter p));
    each "filter_map" (A.filter_map some) (by_list (List.filter_map some));
    each "concat_map" (A.concat_map twice) (by_list (List.concat_map twice_list));
    each "partition" (A.partition p) partition;
  ]

let floats =
  let module F = Muster.Parallel.Floatarray in
  let module S = Stdlib.Float.Array in
  let inputs = [| S.create 0; S.make 1 7. |] in
  let each name ours theirs =
    no_more ("Floatarray." ^ name) (fun n -> ours inputs.(n)) (fun n -> theirs inputs.(n))
  in
  let p x = x > 0. in
  [
    no_more "Floatarray.init" (fun n -> F.init n float_of_int) (fun n -> S.init n float_of_int);
    each "map" (F.map Float.neg) (S.map Float.neg);
    each "mapi" (F.mapi (fun _ x -> x)) (S.mapi (fun _ x -> x));
    each "map2" (fun a -> F.map2 ( +. ) a a) (fun a -> S.map2 ( +. ) a a);
    each "map_inplace" (F.map_inplace Float.neg) (S.map_inplace Float.neg);
    each "map_to_array" (F.map_to_array truncate) (S.map_to_array truncate);
    each "iter" (F.iter ignore) (S.iter ignore);
    each "fold" (F.fold ( +. ) 0.) (S.fold_left ( +. ) 0.);
    each "exists" (F.exists p) (S.exists p);
    each "for_all" (F.for_all p) (S.for_all p);
    each "mem" (F.mem 7.) (S.mem 7.);
    each "find_opt" (F.find_opt p) (S.find_opt p);
    each "find_index" (F.find_index p) (S.find_index p);
    each "filter" (F.filter p) (fun a -> S.of_list (List.filter p (S.to_list a)));
  ]

(* A box for each would be 2,000 words a call; a search that is shared takes some 100. *)
let no_boxes () =
  let a = Float.Array.make 1000 1. in
  let check name mem =
    let allocated = words (fun () -> mem 2. a) in
    if allocated > float (500 * calls) then
      failf "%s of 1,000: %.0f words in %d calls" name allocated calls
  in
  check "mem" Muster.Parallel.Floatarray.mem;
  check "mem_ieee" Muster.Parallel.Floatarray.mem_ieee

let characters =
  let module B = Muster.Parallel.Bytes in
  let module T = Muster.Parallel.String in
  let bytes n = Bytes.make n 'x' and texts = [| ""; "x" |] in
  let inputs = [| bytes 0; bytes 1 |] in
  let up = Char.uppercase_ascii and p c = c = 'x' in
  let each name ours theirs =
    no_more ("Bytes." ^ name) (fun n -> ours inputs.(n)) (fun n -> theirs inputs.(n))
  in
  let text name ours theirs =
    no_more ("String." ^ name) (fun n -> ours texts.(n)) (fun n -> theirs texts.(n))
  in
  [
    each "map" (B.map up) (Bytes.map up);
    each "mapi" (B.mapi (fun _ c -> c)) (Bytes.mapi (fun _ c -> c));
    each "iter" (B.iter ignore) (Bytes.iter ignore);
    each "exists" (B.exists p) (Bytes.exists p);
    each "for_all" (B.for_all p) (Bytes.for_all p);
    each "index_opt" (fun b -> B.index_opt b 'x') (fun b -> Bytes.index_opt b 'x');
    each "contains" (fun b -> B.contains b 'x') (fun b -> Bytes.contains b 'x');
    text "init"
      (fun s -> T.init (T.length s) Char.chr)
      (fun s -> String.init (String.length s) Char.chr);
    text "map" (T.map up) (String.map up);
    text "mapi" (T.mapi (fun _ c -> c)) (String.mapi (fun _ c -> c));
    text "iter" (T.iter ignore) (String.iter ignore);
    text "exists" (T.exists p) (String.exists p);
    text "for_all" (T.for_all p) (String.for_all p);
    text "contains" (fun s -> T.contains s 'x') (fun s -> String.contains s 'x');
    text "index_opt" (fun s -> T.index_opt s 'x') (fun s -> String.index_opt s 'x');
  ]

let bigarrays =
  let module G = Muster.Parallel.Bigarray.Array1 in
  let open Bigarray in
  [
    no_more "Bigarray.init"
      (fun n -> G.init int c_layout n succ)
      (fun n -> Array1.init int c_layout n succ);
    no_more "Bigarray.of_array"
      (fun n -> G.of_array int c_layout (if n = 0 then [||] else [| 1 |]))
      (fun n -> Array1.of_array int c_layout (if n = 0 then [||] else [| 1 |]));
  ]

(* {2 Long elements}

   Few as they are, and short as they have been. *)

let become_long =
  let case_of ?(alone = 1) name ~iterations loop =
    case (Printf.sprintf "%s of %d" name iterations) (fun () ->
        with_domains 2 @@ fun pool ->
        Muster.Pool.run pool (fun () ->
            shares_what_has_become_long name ~alone ~iterations (fun f -> loop f iterations)))
  in
  let a n = Array.init n Fun.id and l n = List.init n Fun.id in
  let keeping f x =
    f x;
    true
  in
  let same f x =
    f x;
    x
  in
  let byte f c =
    f (Char.code c);
    c
  in
  let cases iterations =
    let case name loop = case_of name ~iterations loop in
    Muster.Parallel.
      [
        case "Array.iter" (fun f n -> Array.iter f (a n));
        case "Array.map" (fun f n -> ignore (Array.map (same f) (a n)));
        case "Array.filter" (fun f n -> ignore (Array.filter (keeping f) (a n)));
        case "Array.for_all" (fun f n -> ignore (Array.for_all (keeping f) (a n)));
        case "Bytes.map" (fun f n ->
            ignore (Bytes.map (byte f) (Stdlib.Bytes.init n Stdlib.Char.chr)));
        case "List.iter" (fun f n -> List.iter f (l n));
        case "List.map" (fun f n -> ignore (List.map (same f) (l n)));
        case "List.init" (fun f n -> ignore (List.init n (same f)));
        case "List.map2" (fun f n -> ignore (List.map2 (fun x _ -> same f x) (l n) (l n)));
        case "List.filter" (fun f n -> ignore (List.filter (keeping f) (l n)));
        case "List.for_all" (fun f n -> ignore (List.for_all (keeping f) (l n)));
        case "Seq.iter" (fun f n -> Seq.iter f (Stdlib.List.to_seq (l n)));
        case "Seq.count" (fun f n -> ignore (Seq.count (keeping f) (Stdlib.List.to_seq (l n))));
      ]
  in
  (* A leaf of a fold is never cut, and the second one tells what the others take. *)
  let folds iterations =
    let case name loop = case_of name ~alone:64 ~iterations loop in
    let op f a b =
      f b;
      Int.max a b
    in
    [
      case "List.fold" (fun f n -> ignore (Muster.Parallel.List.fold (op f) 0 (l n)));
      case "Seq.fold" (fun f n -> ignore (Muster.Parallel.Seq.fold (op f) 0 (List.to_seq (l n))));
    ]
  in
  cases 10 @ cases 20 @ folds 256

(* What few elements took is remembered: else they would come as work for the whole pool, for ever. *)
let remembered () =
  with_domains 2 @@ fun pool ->
  Muster.Pool.run pool (fun () ->
      let each name f =
        let words = words f /. float calls in
        if words > 100. then failf "%s: %.0f words" name words
      in
      each "List.fold" (fun () -> Muster.Parallel.List.fold (fun a b -> a + b) 0 [ 1; 2 ]);
      each "List.reduce" (fun () -> Muster.Parallel.List.reduce (fun a b -> a lxor b) [ 1; 2; 3 ]);
      each "List.min" (fun () -> Muster.Parallel.List.min (fun a b -> Int.compare b a) [ 1; 2 ]))

(* A first leaf that is remembered as cheap is a plain walk: no piece, no clock, no trial. *)
let first_leaf_is_plain () =
  let plus = Sys.opaque_identity (fun a b -> a + b) and l = List.init 31 Fun.id in
  run_on 2 (fun () ->
      let sum () = Muster.Parallel.List.fold plus 0 l in
      let least = List.fold_left Float.min infinity (List.init 5 (fun _ -> words sum)) in
      if least > float (20 * calls) then failf "%.0f words in %d calls" least calls)

(* {2 Programs that move over} *)

module type Of_the_stdlib = sig
  module Array : module type of Stdlib.Array
  module Floatarray : module type of Stdlib.Float.Array
  module Bytes : module type of Stdlib.Bytes
  module String : module type of Stdlib.String
  module Bigarray : module type of Stdlib.Bigarray
end

(* Each has all that the stdlib's has, at the same types. *)
module Here : Of_the_stdlib = Muster.Parallel

module Moved = struct
  module Array = Muster.Parallel.Array
  module Bytes = Muster.Parallel.Bytes
  module String = Muster.Parallel.String
  module Bigarray = Muster.Parallel.Bigarray

  let reversed (a : 'a Stdlib.Array.t) : 'a Array.t =
    let n = Array.length a in
    Array.init n (fun i -> a.(n - 1 - i))

  let words text = String.split_on_char ' ' (String.map Char.lowercase_ascii text)

  let doubled () =
    let b = Bigarray.Array1.init Bigarray.int Bigarray.c_layout 3 (fun i -> i * i) in
    b.{2} <- b.{2} * 2;
    Stdlib.Bigarray.Array1.get b 2
end

let moves_over () =
  check_equal "syntax for access" [| 3; 2; 1 |] (Moved.reversed [| 1; 2; 3 |]);
  check_equal "strings" [ "a"; "b" ] (Moved.words "A B");
  check_int "bigarrays" 8 (Moved.doubled ())

let () =
  Alcotest.run "few elements"
    [
      ("Array", arrays);
      ("Floatarray", floats @ [ case "a search boxes no float" no_boxes ]);
      ("Bytes and String", characters);
      ("Bigarray", bigarrays);
      ("have become long", become_long);
      ( "remembered",
        [
          case "the cost of short lists is remembered" remembered;
          case "a fold's first leaf is a plain walk" first_leaf_is_plain;
        ] );
      ("moving over", [ case "a program for the stdlib's modules runs with ours" moves_over ]);
    ]
