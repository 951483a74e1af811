(* The short form of the model checks, or with [--full] all of them, a line for each suite. *)

let quick (name, models) =
  let check () = List.iter (fun model -> ignore (Model.check model)) models in
  Alcotest.test_case name `Quick check

let total = ref 0

let full (name, models) =
  let begun = Sys.time () in
  let orders = List.fold_left (fun sum model -> sum + Model.check model) 0 models in
  total := !total + orders;
  Printf.printf "%-24s %5d models %8d orders %6.1f s\n%!" name (List.length models) orders
    (Sys.time () -. begun)

(* Each by itself, with [--each] and the beginning of a suite's name. *)
let each beginning (name, models) =
  if String.starts_with ~prefix:beginning name then
    List.iter (fun model -> full (model.Model.name, [ model ])) models

let all_full = Models.Suites.full @ Core_models.Suites.full

let () =
  match Sys.argv with
  | [| _; "--full" |] ->
    List.iter full all_full;
    Printf.printf "%d orders, %.0f s\n" !total (Sys.time ())
  | [| _; "--each"; beginning |] -> List.iter (each beginning) all_full
  | _ ->
    Alcotest.run "model"
      [ ("every order of steps", List.map quick (Models.Suites.quick @ Core_models.Suites.quick)) ]
