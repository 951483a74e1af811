(* The short form of the model checks as tests ([test_model]); or all of them, in processes of their
   own, as many at a time as there are CPUs ([--full], [--short]; of those whose suite's name
   or own begins so, [--full NAME]). *)

let short = Models.Suites.quick @ Core_models.Suites.quick
let all = Models.Suites.full @ Core_models.Suites.full

let of_name prefix suites =
  let some (suite, models) =
    let is_meant model = List.exists (String.starts_with ~prefix) [ suite; model.Model.name ] in
    match List.filter is_meant models with [] -> None | models -> Some (suite, models)
  in
  match List.filter_map some suites with
  | [] ->
    Printf.eprintf "the name of no suite and no model begins with %S\n" prefix;
    exit 1
  | meant -> meant

let quick (name, models) =
  let check model =
    if (Model.check model).ending <> Exhausted then Alcotest.fail (model.name ^ ": too many orders")
  in
  Alcotest.test_case name `Quick (fun () -> List.iter check models)

let () =
  match Sys.argv with
  | [| _; "--full" |] -> Report.run all
  | [| _; "--short" |] -> Report.run short
  | [| _; "--full"; prefix |] -> Report.run (of_name prefix all)
  | [| _; "--short"; prefix |] -> Report.run (of_name prefix short)
  | _ -> Alcotest.run "model" [ ("every order of steps", List.map quick short) ]
