(* Prints doc/bad-input.md from the tables of the test. *)

open Bad_case

let cell text = String.concat "\\|" (String.split_on_char '|' text)

let exn_text = function
  | Invalid_argument message -> Printf.sprintf "Invalid_argument %S" message
  | Muster.Task.Deadline_exceeded -> "Task.Deadline_exceeded"
  | Muster.Task.Cancelled -> "Task.Cancelled"
  | Muster.Chan.Closed -> "Chan.Closed"
  | Muster.Lazy.Undefined -> "Lazy.Undefined"
  | Effect.Unhandled _ -> "Effect.Unhandled"
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
    let words = String.split_on_char ' ' (title ^ " " ^ String.concat ", " quoted) in
    let pp_words = Format.(pp_print_list ~pp_sep:pp_print_space pp_print_string) in
    Printf.printf "\n%s.\n" (Format.asprintf "@[<hov>%a@]" pp_words words)

let print_table table =
  let raising row = Option.map (fun expected -> (row, expected)) row.expected in
  let fine row = if row.expected = None then Some row.call else None in
  Printf.printf "\n## %s\n" table.title;
  print_raising (List.filter_map raising table.rows);
  let allowed = List.filter_map fine table.rows in
  if allowed <> [] then print_string "\nThese look odd and are allowed:\n\n";
  List.iter (Printf.printf "- `%s`\n") allowed;
  print_list "Nothing bad can be given to" table.harmless

let introduction =
  {|# Bad input

This page lists the exceptions for arguments that make no sense, and for calls at the wrong moment.
A function of the stdlib's name raises the stdlib's exception. `muster.domainslib` raises
Domainslib's, and `Muster_eio` raises Eio's for a switch. An exception of a function that you pass
comes out as it is.

`test/bad_input` prints these tables from the cases that it checks (`dune promote` after a change).
It also reads the interfaces: each function is in a table, or in a list of those that take no bad
argument.

Muster does not notice these mistakes; they wait for ever:

- a reader of an `Rwlock` asks to read again behind a writer, or to write;
- the computation of a `Lazy` forces it in another task, and waits for that;
- two tasks await each other, or more of them in a ring;
- `Task.blocking`, or a thread that a task joins, calls `Pool.close` on the task's own pool;
- `Chan.select` sends to a rendezvous and receives from it, with no other party there;
- a job of `Muster_eio.Executor_pool` waits for another job, for which the pool has no room;
- code of Lwt's main loop waits for a task that calls `Muster_lwt.on_loop`;
- a task waits for an event that never comes: a message, a permit, a count, or the last party of a
  barrier.
|}

let () =
  print_string introduction;
  List.iter print_table Bad_input.tables
