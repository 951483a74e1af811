type request = { package : string; ocaml : string option }

(* A role is what one package at most can be taken for: a name, or a choice between dependencies.
   Roles are made when somebody refers to them first, and what they lead to is filled in once. *)
type role = {
  id : int;
  name : string;  (** [""] of a choice *)
  solver : t;
  mutable candidates : candidate list option;
  mutable reached : int;  (** the last solve that may select it *)
}

and candidate = {
  package : Package.t option;  (** [None]: one way to go of a choice *)
  needs : Package.dependencies;
  mutable needed : edge list option;
  mutable edges : edge list;  (** what is needed, and the exclusions that matter in this solve *)
  mutable solve : int;
}

and edge = {
  role : role;
  importance : [ `Essential | `Recommended | `Restricts ];
  only : restriction;
}

and restriction =
  | Within of Package.versions
  | Without of { versions : Package.versions; self : string }  (** nobody conflicts with itself *)

and t = {
  repository : Repository.t;
  roles : (string, role) Hashtbl.t;
  mutable last_role : int;
  mutable this_solve : int;
  mutable ocaml : string option;
}

let make repository =
  { repository; roles = Hashtbl.create 1_000; last_role = 0; this_solve = 0; ocaml = None }

let repository t = t.repository

let new_role t name candidates =
  t.last_role <- t.last_role + 1;
  { id = t.last_role; name; solver = t; candidates; reached = 0 }

let candidate package needs = { package; needs; needed = None; edges = []; solve = 0 }

let role t name =
  match Hashtbl.find_opt t.roles name with
  | Some role -> role
  | None ->
    let role = new_role t name None in
    Hashtbl.add t.roles name role;
    role

(* {2 The repository as a graph} *)

let rec ways = function Package.One all -> List.concat_map ways all | one -> [ one ]

let rec edges t = function
  | Package.On (name, versions) ->
    [ { role = role t name; importance = `Essential; only = Within versions } ]
  | All all -> List.concat_map (edges t) all
  | One _ as choice -> (
    match ways choice with
    | [ one ] -> edges t one
    | all ->
      let role = new_role t "" (Some (List.map (candidate None) all)) in
      [ { role; importance = `Essential; only = Within Any } ])

let needed t candidate =
  match candidate.needed with
  | Some edges -> edges
  | None ->
    let edges = edges t candidate.needs in
    candidate.needed <- Some edges;
    edges

let candidates_of role =
  match role.candidates with
  | Some candidates -> candidates
  | None ->
    let of_package (it : Package.t) = candidate (Some it) it.depends in
    let packages = Repository.candidates role.solver.repository role.name in
    let candidates = List.map of_package packages in
    role.candidates <- Some candidates;
    candidates

(* 5.4.1 is also Debian's 5.4.1-1. *)
let is_version wanted (package : Package.t) =
  package.version = wanted || String.starts_with ~prefix:(wanted ^ "-") package.version

let is_wanted role candidate =
  match (role.solver.ocaml, candidate.package) with
  | Some wanted, Some package when role.name = "ocaml" -> is_version wanted package
  | _ -> true

let implementations role = List.filter (is_wanted role) (candidates_of role)

(* {2 Exclusions}

   0install follows an exclusion as it does a dependency: in Debian, where most packages exclude old
   versions of others, each solve would have all packages. So a solve begins with the roles that
   dependencies reach, and knows exclusions between these alone. *)

let rec reach t role =
  if role.reached < t.this_solve then begin
    Muster.Task.check ();
    role.reached <- t.this_solve;
    let follow edge = reach t edge.role in
    List.iter (fun it -> List.iter follow (needed t it)) (implementations role)
  end

let without t name versions ~self =
  { role = role t name; importance = `Restricts; only = Without { versions; self } }

(* Who excludes a name excludes all others that provide it. *)
let exclusions t (package : Package.t) =
  let self = package.name in
  let provider versions { package; _ } =
    match package with
    | Some { real; version; depends = On (name, this_one); _ }
      when real = name && real <> self && Package.is_in version versions ->
      Some (without t name this_one ~self)
    | _ -> None
  in
  let all (name, versions) =
    let providers = List.filter_map (provider versions) (candidates_of (role t name)) in
    if name = self then providers else without t name versions ~self :: providers
  in
  List.concat_map all package.conflicts

let edges_of t candidate =
  if candidate.solve < t.this_solve then begin
    let excluded = Option.fold candidate.package ~none:[] ~some:(exclusions t) in
    let matter edge = edge.role.reached = t.this_solve in
    candidate.edges <- needed t candidate @ List.filter matter excluded;
    candidate.solve <- t.this_solve
  end;
  candidate.edges

(* {2 What 0install asks} *)

module Input = struct
  module Role = struct
    type t = role

    let pp ppf role = Format.pp_print_string ppf role.name
    let compare a b = Int.compare a.id b.id
  end

  type impl = candidate
  type dependency = edge
  type nonrec restriction = restriction
  type command = |
  type command_name = string
  type machine_group = string
  type conflict_class = string
  type rejection = |

  type dep_info = {
    dep_role : role;
    dep_importance : [ `Essential | `Recommended | `Restricts ];
    dep_required_commands : command_name list;
  }

  type requirements = { role : role; command : command_name option }
  type role_information = { replacement : role option; impls : impl list }

  let requires role candidate =
    Muster.Task.check ();
    (edges_of role.solver candidate, [])

  let dep_info (edge : edge) =
    { dep_role = edge.role; dep_importance = edge.importance; dep_required_commands = [] }

  let implementations role = { replacement = None; impls = implementations role }

  let restrictions edge = match edge.only with Within Any -> [] | only -> [ only ]

  let meets_restriction candidate restriction =
    match (candidate.package, restriction) with
    | None, _ -> true
    | Some package, Within versions -> Package.is_in package.version versions
    | Some package, Without { versions; self } ->
      package.real = self || not (Package.is_in package.version versions)

  let conflict_class candidate =
    Option.fold candidate.package ~none:[] ~some:(fun (it : Package.t) -> it.classes)

  let command_requires _ : command -> _ = function _ -> .
  let get_command _ _ = None
  let machine_group _ = None

  (* For messages about a failed solve, which nobody asks for. *)

  let pp_version ppf candidate =
    Option.iter (fun (it : Package.t) -> Format.pp_print_string ppf it.version) candidate.package

  let pp_impl = pp_version
  let pp_impl_long = pp_version
  let pp_command _ : command -> _ = function _ -> .
  let rejects _ = ([], [])
  let compare_version _ _ = 0
  let user_restrictions _ = None
  let format_machine _ = ""
  let string_of_restriction _ = ""
  let describe_problem _ : rejection -> _ = function _ -> .
  let dummy_impl = candidate None (All [])
end

module Core = Zeroinstall_solver.Make (Input)

type answer = Packages of Package.t list | No_solution | No_such_package

let selected selections =
  let package (_, selection) = (Core.Output.unwrap selection).package in
  Core.Output.RoleMap.bindings (Core.Output.to_map selections)
  |> List.filter_map package
  |> List.filter (fun (it : Package.t) -> it.name = it.real)

let solve t (request : request) =
  t.this_solve <- t.this_solve + 1;
  t.ocaml <- request.ocaml;
  let role = role t request.package in
  if candidates_of role = [] then No_such_package
  else begin
    reach t role;
    match Core.do_solve ~closest_match:false { role; command = None } with
    | Some selections -> Packages (selected selections)
    | None -> No_solution
  end
