(* The short form of the model checks as tests; or a line for each suite ([--short], [--full]), or for
   each model of some suites ([--each NAME]). *)

let quick (name, models) =
  let check () = List.iter (fun model -> ignore (Model.check model)) models in
  Alcotest.test_case name `Quick check

let total = ref 0

let tell name models =
  let begun = Sys.time () in
  let orders = List.fold_left (fun sum model -> sum + Model.check model) 0 models in
  total := !total + orders;
  Printf.printf "%-24s %5d models %8d orders %6.1f s\n%!" name (List.length models) orders
    (Sys.time () -. begun)

let table suites =
  List.iter (fun (name, models) -> tell name models) suites;
  Printf.printf "%d orders, %.0f s\n" !total (Sys.time ())

(* The models of the suites whose names begin so. *)
let each prefix (name, models) =
  if String.starts_with ~prefix name then
    List.iter (fun model -> tell model.Model.name [ model ]) models

let short = Models.Suites.quick @ Core_models.Suites.quick
let all = Models.Suites.full @ Core_models.Suites.full

let () =
  match Sys.argv with
  | [| _; "--full" |] -> table all
  | [| _; "--short" |] -> table short
  | [| _; "--each"; prefix |] -> List.iter (each prefix) all
  | _ -> Alcotest.run "model" [ ("every order of steps", List.map quick short) ]
