(* Bad arguments raise what the tables say: the function's name and the value are in the message. And
   no function of the interfaces is missing there. *)

let check (row : Bad_case.row) =
  Harness.case row.call (fun () ->
      match (row.run (), row.expected) with
      | (), None -> ()
      | (), Some _ -> Harness.failf "%s: no exception" row.call
      | exception exn when Some exn = row.expected -> ()
      | exception exn ->
        let expected = Option.fold ~none:"a result" ~some:Printexc.to_string row.expected in
        Harness.failf "%s: %s, should be %s" row.call (Printexc.to_string exn) expected)

let declared = lazy (Interfaces.all ~root:"../.." ~further:Bad_input.further_interfaces)

let considered =
  List.concat_map
    (fun (table : Bad_case.table) -> List.map Bad_input.subject table.rows @ table.harmless)
    Bad_input.tables

let none what names = Harness.check_equal (String.concat " " (what :: names)) [] names

let every_function () =
  let declared = Lazy.force declared in
  if List.length declared < 250 then Harness.failf "only %d found" (List.length declared);
  none "no row" (List.filter (fun name -> not (List.mem name considered)) declared)

let no_other () =
  let is_known name = List.mem name (Lazy.force declared) in
  none "no such function" (List.filter (fun name -> not (is_known name)) considered)

let harmless_has_no_row () =
  let raised (table : Bad_case.table) =
    let has_row name =
      List.exists
        (fun row -> Bad_input.subject row = name && row.Bad_case.expected <> None)
        table.rows
    in
    List.filter has_row table.harmless
  in
  none "harmless, and raises" (List.concat_map raised Bad_input.tables)

let () =
  let group (table : Bad_case.table) = (table.title, List.map check table.rows) in
  let with_rows = List.filter (fun (_, rows) -> rows <> []) (List.map group Bad_input.tables) in
  Alcotest.run "bad input"
    (( "tables",
       [
         Harness.case "every function has a row, or takes nothing bad" every_function;
         Harness.case "every row is of a function that there is" no_other;
         Harness.case "a function without bad input has no row that raises" harmless_has_no_row;
       ] )
    :: with_rows)
