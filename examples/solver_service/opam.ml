open OpamParserTypes.FullPos

exception Malformed of { file : string; reason : string }

(* {2 Conditions}

   What is written in braces mixes bounds of the version with variables of the system: [{>= "1.2" &
   os = "linux"}]. Both become versions: a variable is for all of them or none. [None]: it is not
   known. *)

let variable ~version = function
  | "version" -> Some version
  | "os" -> Some "linux"
  | "arch" -> Some "x86_64"
  | "opam-version" -> Some "2.2.0"
  | _ -> None

let always it = if it then Package.Any else Nothing

let flag = function
  | "build" | "post" -> Some Package.Any
  | "with-test" | "with-doc" | "with-dev-setup" | "dev" -> Some Nothing
  | _ -> None

let text ~version value =
  match value.pelem with
  | String text -> Some text
  | Ident name -> variable ~version name
  | _ -> None

let both a b : Package.versions option =
  match (a, b) with
  | Some Package.Nothing, _ | _, Some Package.Nothing -> Some Nothing
  | Some a, Some b -> Some (Package.both a b)
  | None, _ | _, None -> None

let either a b : Package.versions option =
  match (a, b) with
  | Some Package.Any, _ | _, Some Package.Any -> Some Any
  | Some a, Some b -> Some (Package.either a b)
  | None, _ | _, None -> None

let rec condition ~version value =
  let condition = condition ~version and text = text ~version in
  match value.pelem with
  | Bool it -> Some (always it)
  | Ident name -> flag name
  | Prefix_relop (comparison, bound) ->
    Option.map (fun bound -> Package.Is (comparison.pelem, bound)) (text bound)
  | Relop (comparison, a, b) -> (
    match (text a, text b) with
    | Some a, Some b -> Some (always (Package.is_in a (Is (comparison.pelem, b))))
    | None, _ | _, None -> None)
  | Logop ({ pelem = `And; _ }, a, b) -> both (condition a) (condition b)
  | Logop ({ pelem = `Or; _ }, a, b) -> either (condition a) (condition b)
  | Pfxop ({ pelem = `Not; _ }, a) -> Option.map Package.except (condition a)
  | Group all | List all -> conditions ~version all.pelem
  | _ -> None

and conditions ~version values =
  List.fold_left (fun so_far value -> both so_far (condition ~version value)) (Some Any) values

(* What is not known holds. *)
let known = Option.value ~default:Package.Any

(* {2 Dependencies} *)

(* [None]: the condition excludes it. *)
let rec dependencies ~version value =
  let several make values =
    match List.filter_map (dependencies ~version) values with
    | [] -> None
    | [ one ] -> Some one
    | all -> Some (make all)
  in
  match value.pelem with
  | String name -> Some (Package.On (name, Any))
  | Option ({ pelem = String name; _ }, braces) -> (
    match known (conditions ~version braces.pelem) with
    | Nothing -> None
    | versions -> Some (On (name, versions)))
  | Option (inner, braces) ->
    if known (conditions ~version braces.pelem) = Nothing then None
    else dependencies ~version inner
  | Logop ({ pelem = `And; _ }, a, b) -> several (fun all -> Package.All all) [ a; b ]
  | Logop ({ pelem = `Or; _ }, a, b) -> several (fun all -> Package.One all) [ a; b ]
  | Group all | List all -> several (fun all -> Package.All all) all.pelem
  | _ -> None

let rec names = function
  | Package.On (name, versions) -> [ (name, versions) ]
  | All all | One all -> List.concat_map names all

(* {2 Files} *)

let words value =
  let word value = match value.pelem with String it | Ident it -> Some it | _ -> None in
  match value.pelem with
  | List all | Group all -> List.filter_map word all.pelem
  | _ -> Option.to_list (word value)

let package ~name ~version file =
  let is field item =
    match item.pelem with
    | Variable (key, value) when key.pelem = field -> Some value
    | Variable _ | Section _ -> None
  in
  let field name = List.find_map (is name) file.file_contents in
  let list name = Option.fold (field name) ~none:[] ~some:words in
  let formula name =
    Option.value (Option.bind (field name) (dependencies ~version)) ~default:(Package.All [])
  in
  let flags = list "flags" in
  let available value = known (condition ~version value) <> Nothing in
  if Option.fold (field "available") ~none:true ~some:available then
    Some
      {
        Package.name;
        version;
        avoid = List.mem "avoid-version" flags || List.mem "deprecated" flags;
        depends = formula "depends";
        conflicts = names (formula "conflicts");
        classes = list "conflict-class";
        real = name;
      }
  else None

let parse ~name ~version text =
  let file = name ^ "." ^ version in
  match OpamParser.FullPos.string text file with
  | parsed -> package ~name ~version parsed
  | exception ((Parsing.Parse_error | OpamLexer.Error _ | Failure _) as error) ->
    raise (Malformed { file; reason = Printexc.to_string error })
