(* The short form of the model checks, or with [--full] all of them, a line for each suite. *)

open Models

let quick (name, models) =
  let check () = List.iter (fun model -> ignore (Model.check model)) models in
  Alcotest.test_case name `Quick check

let full (name, models) =
  let begun = Sys.time () in
  let orders = List.fold_left (fun sum model -> sum + Model.check model) 0 models in
  Printf.printf "%-20s %5d models %8d orders %6.1f s\n%!" name (List.length models) orders
    (Sys.time () -. begun)

let () =
  match Sys.argv with
  | [| _; "--full" |] -> List.iter full Suites.full
  | _ -> Alcotest.run "model" [ ("every order of steps", List.map quick Suites.quick) ]
