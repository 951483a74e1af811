(* Every kind of bad argument, and what it raises: tables that test_bad_input checks, and that are
   printed into doc/bad-input.md. *)

let tables =
  Bad_core.tables @ Bad_sync.tables @ Bad_collections.tables @ Bad_kernels.tables
  @ Bad_domainslib.tables @ Bad_bridges.tables

(* Interfaces that belong to tables of libraries which not every system has, with their prefixes. *)
let further_interfaces = Bad_bridges.interfaces

(* The function that a row is about. *)
let subject (row : Bad_case.row) =
  let is_part = function
    | 'a' .. 'z' | 'A' .. 'Z' | '0' .. '9' | '_' | '\'' | '.' -> true
    | _ -> false
  in
  String.to_seq row.call |> Seq.take_while is_part |> String.of_seq
