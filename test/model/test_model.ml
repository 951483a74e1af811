(* The short form of the model checks as tests ([test_model]); or all of them, in processes of their
   own, as many at a time as there are CPUs ([--full], [--short], or the suites whose names begin
   so: [--full NAME]). *)

let short = Models.Suites.quick @ Core_models.Suites.quick
let all = Models.Suites.full @ Core_models.Suites.full

let of_name prefix = List.filter (fun (name, _) -> String.starts_with ~prefix name)

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
  | _ -> Alcotest.run "model" [ ("every order of steps", List.map quick short) ]
