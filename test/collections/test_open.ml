(* [open Muster] changes nothing of what the stdlib's names mean. *)

open Muster

let elements = 100_000

(* Calls out of order, or at the same time, would give another text. *)
let effects_in_order () =
  let text iter =
    let buffer = Buffer.create elements in
    iter (fun i -> Buffer.add_string buffer (string_of_int i)) (Stdlib.List.init elements Fun.id);
    Buffer.contents buffer
  in
  let expected = text Stdlib.List.iter in
  for _ = 1 to 20 do
    Harness.check_equal "List.iter" true (text List.iter = expected);
    Harness.check_equal "Seq.iter" true
      (text (fun f l -> Seq.iter f (List.to_seq l)) = expected);
    Harness.check_equal "Array.iter" true
      (text (fun f l -> Array.iter f (Array.of_list l)) = expected)
  done

let functions_are_the_stdlib's () =
  let same name a b = Harness.check_equal name true (Obj.repr a == Obj.repr b) in
  same "List.map" List.map Stdlib.List.map;
  same "List.sort" List.sort Stdlib.List.sort;
  same "Array.map" Array.map Stdlib.Array.map;
  same "Array.stable_sort" Array.stable_sort Stdlib.Array.stable_sort;
  same "Bigarray.Array2.init" Bigarray.Array2.init Stdlib.Bigarray.Array2.init;
  same "Seq.fold_left" Seq.fold_left Stdlib.Seq.fold_left;
  same "String.map" String.map Stdlib.String.map;
  same "Bytes.iter" Bytes.iter Stdlib.Bytes.iter

(* Paths of old serve until they go. *)
let old_paths () =
  Harness.check_equal "List.map" [ 2; 3 ] (Muster.List.map succ [ 1; 2 ]);
  Harness.check_equal "List.fold" 3 (Muster.List.fold ( + ) 0 [ 1; 2 ]);
  Harness.check_equal "Array.scan" [| 1; 3 |] (Muster.Array.scan ( + ) [| 1; 2 |])

let parallel_opened () =
  let open Muster.Parallel in
  Harness.check_equal "fold" 499_500 (Array.fold ( + ) 0 (Array.init 1000 Fun.id))

let () =
  Alcotest.run "open"
    [
      ( "open",
        [
          Harness.case "effects come in order" effects_in_order;
          Harness.case "functions with the stdlib's names are its own" functions_are_the_stdlib's;
          Harness.case "paths of old" old_paths;
          Harness.case "Muster.Parallel may be opened" parallel_opened;
        ] );
    ]
