module Version = Muster_closure.Version

type comparison = [ `Eq | `Neq | `Geq | `Gt | `Leq | `Lt ]

type versions =
  | Any
  | Nothing
  | Is of comparison * string
  | Both of versions * versions
  | Either of versions * versions

let both a b =
  match (a, b) with
  | Nothing, _ | _, Nothing -> Nothing
  | Any, other | other, Any -> other
  | _ -> Both (a, b)

let either a b =
  match (a, b) with
  | Any, _ | _, Any -> Any
  | Nothing, other | other, Nothing -> other
  | _ -> Either (a, b)

let opposite : comparison -> comparison = function
  | `Eq -> `Neq
  | `Neq -> `Eq
  | `Geq -> `Lt
  | `Lt -> `Geq
  | `Gt -> `Leq
  | `Leq -> `Gt

let rec except = function
  | Any -> Nothing
  | Nothing -> Any
  | Is (comparison, version) -> Is (opposite comparison, version)
  | Both (a, b) -> Either (except a, except b)
  | Either (a, b) -> Both (except a, except b)

let is comparison order =
  match comparison with
  | `Eq -> order = 0
  | `Neq -> order <> 0
  | `Geq -> order >= 0
  | `Gt -> order > 0
  | `Leq -> order <= 0
  | `Lt -> order < 0

let rec is_in version = function
  | Any -> true
  | Nothing -> false
  | Is (comparison, other) -> version <> "" && is comparison (Version.compare version other)
  | Both (a, b) -> is_in version a && is_in version b
  | Either (a, b) -> is_in version a || is_in version b

type dependencies =
  | On of string * versions
  | All of dependencies list
  | One of dependencies list

type t = {
  name : string;
  version : string;
  avoid : bool;
  depends : dependencies;
  conflicts : (string * versions) list;
  classes : string list;
  real : string;
}

let newest_first a b =
  match Bool.compare a.avoid b.avoid with 0 -> Version.compare b.version a.version | order -> order
