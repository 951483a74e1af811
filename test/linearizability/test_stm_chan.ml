(* Channels against their model. *)

let cases capacity =
  let module Model = Check.Make (Chan_model.Make (struct
    let capacity = capacity
  end))
  in
  let name = Option.fold capacity ~none:"unbounded" ~some:(Printf.sprintf "bounded %d") in
  (name, Model.cases name Check.everywhere)

let () = Alcotest.run "channels, against a model" (List.map cases [ Some 0; Some 1; Some 3; None ])
