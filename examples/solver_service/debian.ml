open Muster_closure

(* A stanza stands below its name, and below each name that it provides. *)
type entry = Own of Stanza.t | Provided of Stanza.t * Relation.t
type t = (string, entry) Hashtbl.t

let text (stanza : Stanza.t) span = Text.sub stanza.name.text span

let each_relation (stanza : Stanza.t) span f =
  Relation.iter_clauses stanza.name.text span (List.iter f)

(* {2 Reading} *)

let stanzas path =
  let { Index.text; _ } = Muster.Task.blocking (fun () -> Index.read path) in
  let parts = Muster.Parallel.Array.map Stanza.parse (Stanza.cut ~size:65_536 text) in
  Array.concat (Array.to_list parts)

let architecture (stanza : Stanza.t) = text stanza stanza.architecture

let first_architecture stanzas =
  let native stanza = match architecture stanza with "all" -> None | it -> Some it in
  Option.value (Seq.find_map native (Array.to_seq stanzas)) ~default:"all"

let add table (stanza : Stanza.t) =
  Hashtbl.add table (Name.to_string stanza.name) (Own stanza);
  each_relation stanza stanza.provides (fun offer ->
      Hashtbl.add table (Name.to_string offer.name) (Provided (stanza, offer)))

let read paths =
  let stanzas = Array.concat (List.map stanzas paths) in
  let ours = [ "all"; first_architecture stanzas ] and table = Hashtbl.create 100_000 in
  let is_for_us stanza = List.mem (architecture stanza) ours in
  Array.iter (fun stanza -> if is_for_us stanza then add table stanza) stanzas;
  table

let names table = Seq.map fst (Hashtbl.to_seq table)

(* {2 Packages} *)

let versions (relation : Relation.t) : Package.versions =
  let is comparison = Package.Is (comparison, Text.sub relation.name.text relation.version) in
  match relation.bound with
  | Any -> Any
  | Earlier -> is `Lt
  | At_most -> is `Leq
  | Exactly -> is `Eq
  | At_least -> is `Geq
  | Later -> is `Gt

let on (relation : Relation.t) = Package.On (Name.to_string relation.name, versions relation)

let clauses (stanza : Stanza.t) span =
  let found = ref [] in
  Relation.iter_clauses stanza.name.text span (fun alternatives ->
      found := Package.One (List.map on alternatives) :: !found);
  List.rev !found

let excluded stanza span =
  let found = ref [] in
  each_relation stanza span (fun it -> found := (Name.to_string it.name, versions it) :: !found);
  !found

let package (stanza : Stanza.t) =
  let name = Name.to_string stanza.name in
  {
    Package.name;
    version = text stanza stanza.version;
    avoid = false;
    depends = All (clauses stanza stanza.pre_depends @ clauses stanza stanza.depends);
    conflicts = excluded stanza stanza.conflicts @ excluded stanza stanza.breaks;
    classes = [];
    real = name;
  }

(* It takes its provider along. A name's own packages come before those that provide it. *)
let provided (stanza : Stanza.t) (offer : Relation.t) =
  let real = Name.to_string stanza.name in
  let this_one = Package.Is (`Eq, text stanza stanza.version) in
  {
    Package.name = Name.to_string offer.name;
    version = Text.sub offer.name.text offer.version;
    avoid = true;
    depends = On (real, this_one);
    conflicts = [];
    classes = [];
    real;
  }

let of_entry = function
  | Own stanza -> package stanza
  | Provided (stanza, offer) -> provided stanza offer

(* A version may be in several indexes. *)
let candidates table name =
  let same (a : Package.t) (b : Package.t) = a.real = b.real && a.version = b.version in
  let once it others = if List.exists (same it) others then others else it :: others in
  List.fold_right once (List.map of_entry (Hashtbl.find_all table name)) []
