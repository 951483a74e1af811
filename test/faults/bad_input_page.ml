(* Prints doc/bad-input.md from the table of the test. *)

let cell text = String.concat "\\|" (String.split_on_char '|' text)

let exn_text = function
  | Invalid_argument message -> Printf.sprintf "Invalid_argument %S" message
  | Muster.Task.Deadline_exceeded -> "Task.Deadline_exceeded"
  | exn -> Printexc.to_string exn

let () =
  print_string
    "# Bad input\n\n\
     What the functions of `Muster` raise for arguments that make no sense. The tables are printed from\n\
     what `test/faults/test_bad_input` checks (`dune promote` after a change).\n\n\
     | call | raises |\n| --- | --- |\n";
  List.iter
    (fun (c : Bad_input.case) ->
      Printf.printf "| `%s` | `%s` |\n" (cell c.call) (cell (exn_text c.expected)))
    Bad_input.cases;
  print_string "\nThese look odd and are allowed:\n\n";
  List.iter (fun (call, _) -> Printf.printf "- `%s`\n" call) Bad_input.fine
