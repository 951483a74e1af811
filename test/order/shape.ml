open Parsetree

type func = { where : string; lines : int; parameters : int }

let lexer (file : Sources.t) =
  let buffer = Lexing.from_string file.text in
  Location.init buffer file.path;
  buffer

let structure file = Parse.implementation (lexer file)
let signature file = Parse.interface (lexer file)
let is_interface file = Sources.is [ ".mli" ] file

let walk iterator file =
  if is_interface file then iterator.Ast_iterator.signature iterator (signature file)
  else iterator.Ast_iterator.structure iterator (structure file)

let collect file iterator_of =
  let found = ref [] in
  walk (iterator_of (fun it -> found := it :: !found)) file;
  List.rev !found

(* {2 Functions} *)

let rec is_value param = match param.pparam_desc with Pparam_val _ -> true | Pparam_newtype _ -> false

and parameters expression =
  match expression.pexp_desc with
  | Pexp_function (params, _, body) -> List.length (List.filter is_value params) + of_body body
  | Pexp_newtype (_, inner) | Pexp_constraint (inner, _) -> parameters inner
  | _ -> 0

and of_body = function Pfunction_cases _ -> 1 | Pfunction_body _ -> 0

let func (file : Sources.t) binding =
  let { Location.loc_start; loc_end; _ } = binding.pvb_loc in
  let where = Printf.sprintf "%s:%d" file.path loc_start.pos_lnum in
  let lines = loc_end.pos_lnum - loc_start.pos_lnum + 1 in
  { where; lines; parameters = parameters binding.pvb_expr }

let functions file =
  collect file @@ fun add ->
  let value_binding self binding =
    let it = func file binding in
    if it.parameters > 0 then add it;
    Ast_iterator.default_iterator.value_binding self binding
  in
  { Ast_iterator.default_iterator with value_binding }

(* {2 Records} *)

let records file =
  collect file @@ fun add ->
  let type_declaration _ declaration =
    match declaration.ptype_kind with
    | Ptype_record fields -> add (declaration.ptype_name.txt, List.length fields)
    | _ -> ()
  in
  { Ast_iterator.default_iterator with type_declaration }

let fields file name =
  match List.assoc_opt name (records file) with
  | Some n -> n
  | None -> failwith (Printf.sprintf "%s declares no record %s" file.path name)

(* {2 Modules} *)

let head_of { Location.txt; _ } = List.hd (Longident.flatten txt)

let opened file =
  collect file @@ fun add ->
  let open_declaration _ declaration =
    match declaration.popen_expr.pmod_desc with Pmod_ident it -> add (head_of it) | _ -> ()
  in
  let open_description _ description = add (head_of description.popen_expr) in
  let expr self expression =
    match expression.pexp_desc with
    | Pexp_open (_, inner) -> self.Ast_iterator.expr self inner
    | _ -> Ast_iterator.default_iterator.expr self expression
  in
  { Ast_iterator.default_iterator with open_declaration; open_description; expr }

let has_no_code file =
  let is_no_code item =
    match item.pstr_desc with
    | Pstr_module { pmb_expr = { pmod_desc = Pmod_ident _; _ }; _ }
    | Pstr_include { pincl_mod = { pmod_desc = Pmod_ident _; _ }; _ }
    | Pstr_type _ ->
      true
    | _ -> false
  in
  List.for_all is_no_code (structure file)

let named file =
  let none = Misc.Stdlib.String.Map.empty in
  Depend.free_structure_names := Misc.Stdlib.String.Set.empty;
  if is_interface file then Depend.add_signature none (signature file)
  else Depend.add_implementation none (structure file);
  Misc.Stdlib.String.Set.elements !Depend.free_structure_names
