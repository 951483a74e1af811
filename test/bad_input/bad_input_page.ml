(* Prints doc/bad-input.md from the tables of the test. *)

open Bad_case

let cell text = String.concat "\\|" (String.split_on_char '|' text)

let exn_text = function
  | Invalid_argument message -> Printf.sprintf "Invalid_argument %S" message
  | Muster.Task.Deadline_exceeded -> "Task.Deadline_exceeded"
  | Muster.Task.Cancelled -> "Task.Cancelled"
  | Muster.Chan.Closed -> "Chan.Closed"
  | Muster.Lazy.Undefined -> "Lazy.Undefined"
  | exn -> Printexc.to_string exn

let print_raising rows =
  let print (row, expected) =
    Printf.printf "| `%s` | `%s` |\n" (cell row.call) (cell (exn_text expected))
  in
  if rows <> [] then begin
    print_string "\n| call | raises |\n| --- | --- |\n";
    List.iter print rows
  end

let print_list title = function
  | [] -> ()
  | names ->
    let quoted = List.map (Printf.sprintf "`%s`") names in
    Printf.printf "\n%s %s.\n" title (String.concat ", " quoted)

let print_table table =
  let raising row = Option.map (fun expected -> (row, expected)) row.expected in
  let fine row = if row.expected = None then Some row.call else None in
  Printf.printf "\n## %s\n" table.title;
  print_raising (List.filter_map raising table.rows);
  let allowed = List.filter_map fine table.rows in
  if allowed <> [] then print_string "\nThese look odd and are allowed:\n\n";
  List.iter (Printf.printf "- `%s`\n") allowed;
  print_list "Nothing bad can be given to" table.harmless

let () =
  print_string
    "# Bad input\n\n\
     What the functions of Muster raise for arguments that make no sense, and for calls at the wrong\n\
     moment. Where the stdlib has the function, it raises what the stdlib's does; \
     `muster.domainslib`\n\
     raises what Domainslib does. A function that is given to one of these may raise whatever it\n\
     likes; that comes out.\n\n\
     The tables are printed from what `test/bad_input` checks (`dune promote` after a change). It \
     also\n\
     reads the interfaces: every function of them is in a table, or in a list of those that can be\n\
     given nothing bad.\n\n\
     These mistakes are not noticed, and wait for ever:\n\n\
     - a reader of an `Rwlock` that asks to read again behind a writer, or to write;\n\
     - the computation of a `Lazy` that forces it in another task and waits for that;\n\
     - two tasks that await each other, and a longer ring of them;\n\
     - `Pool.close` within `Task.blocking` in a task of that pool, and in a thread that a task of it\n\
    \  joins: only a call on the task's own thread is refused;\n\
     - `Chan.select` that both sends to a rendezvous and receives from it, with nobody else there: \
     it\n\
    \  does not deal with itself.\n\n\
     So does whatever waits for what nobody does: a message, a permit, a latch's count, the last \
     party\n\
     of a barrier.\n";
  List.iter print_table Bad_input.tables
