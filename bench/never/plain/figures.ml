type t = (string * float list) list

let print =
  List.iter (fun (name, values) ->
      let values = List.map (Printf.sprintf "%.17g") values in
      print_endline (String.concat " " (name :: values)))

let line text =
  match String.split_on_char ' ' text with
  | name :: values -> (name, List.map float_of_string values)
  | [] -> assert false

let parse text =
  let lines = String.split_on_char '\n' (String.trim text) in
  match List.map line lines with figures -> Some figures | exception Failure _ -> None
