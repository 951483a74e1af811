(* Nobody forgets a statement about order, nor its litmus test. *)

open Rounds

let matches pattern text =
  let pattern = Str.regexp pattern in
  let rec from at =
    match Str.search_forward pattern text at with
    | exception Not_found -> []
    | _ ->
      let found = Str.matched_group 1 text and next = Str.match_end () in
      found :: from next
  in
  from 0

let states text = matches "\\(Order\\)[.}:]* " text <> []
let cut = Str.full_split (Str.regexp "^ *\\(val\\|module\\|exception\\|type\\) +[a-z_A-Z0-9']+")

(* {2 The interfaces} *)

(* Whole modules whose head says it for all. *)
let stated_by_head () =
  let body = Str.regexp "^\\(val\\|include\\|module\\|type\\) " in
  let head text = List.hd (Str.split body text) in
  let check_one (name, text) = check (name ^ ": its head states no order") (states (head text)) in
  List.iter check_one
    Texts.
      [
        ("Muster", muster);
        ("Chan", chan);
        ("Array", array);
        ("List", list);
        ("Seq", seq);
        ("Domainslib", domainslib);
        ("muster.h", kernel);
      ]

(* These have it from Array, and say so. *)
let stated_by_array () =
  let check_one (name, text) =
    check (name ^ " does not refer to Array") (matches "\\({!Array.shared}\\)" text <> [])
  in
  List.iter check_one
    Texts.
      [ ("Floatarray", floatarray); ("Bigarray", bigarray); ("Bytes", bytes); ("String", string) ]

(* Values of [text] that are for users, but for those that [covered] says. *)
let each_value name text covered =
  let rec go = function
    | Str.Delim value :: rest ->
      let what, rest = match rest with Str.Text what :: rest -> (what, rest) | _ -> ("", rest) in
      let value = String.trim value in
      let is_value = String.starts_with ~prefix:"val " value in
      if is_value && not (List.mem value covered) then
        check (Printf.sprintf "%s: %s states no order" name value) (states what);
      go rest
    | Str.Text _ :: rest -> go rest
    | [] -> ()
  in
  go (cut (List.hd (Str.bounded_split (Str.regexp_string "(**/**)") text 2)))

(* The head of Team speaks for its calls; so do the waits of locks for what they wait for, and the
   way in for its short forms. *)
let each_states () =
  let vals = List.map (( ^ ) "val ") in
  each_value "Muster" Texts.muster (vals [ "broadcast"; "for_n"; "for_n_dynamic"; "for_slices" ]);
  each_value "Mutex" Texts.mutex (vals [ "create"; "unlock"; "protect" ]);
  each_value "Condition" Texts.condition (vals [ "create"; "signal"; "broadcast" ]);
  each_value "Semaphore" Texts.semaphore (vals [ "make"; "release"; "with_permit" ]);
  each_value "Barrier" Texts.barrier (vals [ "create"; "parties" ]);
  each_value "Latch" Texts.latch (vals [ "create"; "count_down" ]);
  each_value "Rwlock" Texts.rwlock
    (vals
       [
         "create";
         "lock_write";
         "try_lock_write";
         "unlock_read";
         "unlock_write";
         "protect_read";
         "protect_write";
       ]);
  each_value "Lazy" Texts.lazy_ (vals [ "from_fun"; "from_val"; "map"; "map_val" ]);
  each_value "Table" Texts.table (vals [ "create" ])

(* {2 The table} *)

let cases = matches "case \"\\([^\"]+\\)\"" Texts.programs

(* The section of that title: other sections have tables of their own. *)
let section title text =
  let rec from = function
    | line :: rest when line = "## " ^ title -> until rest
    | _ :: rest -> from rest
    | [] -> []
  and until = function
    | line :: rest when not (String.starts_with ~prefix:"## " line) -> line :: until rest
    | _ -> []
  in
  from (String.split_on_char '\n' text)

(* In the last column, in backquotes. *)
let in_table =
  let line text = String.starts_with ~prefix:"| " text in
  let column row =
    match List.rev (String.split_on_char '|' row) with _ :: last :: _ -> last | _ -> ""
  in
  let rows = List.filter line (section "Order" Texts.doc) in
  List.concat_map (fun row -> matches "`\\([^`]+\\)`" (column row)) rows

let missing from those = List.filter (fun it -> not (List.mem it from)) those

let all_there () =
  check "no case" (cases <> [] && in_table <> []);
  List.iter (fun it -> check ("the table names no case: " ^ it) false) (missing cases in_table);
  List.iter (fun it -> check ("not in the table: " ^ it) false) (missing in_table cases)

let () =
  main
    [
      case "order: modules that state it for all" stated_by_head;
      case "order: modules that refer to Array" stated_by_array;
      case "order: each value states it" each_states;
      case "order: each statement has its litmus test" all_there;
    ]
