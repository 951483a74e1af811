type node = { targets : int array; unmet : int }
type t = node array

let alone = { targets = [||]; unmet = 0 }

(* ":any" and ":native" are about several architectures on one machine; any package
   meets them here. Packages of the architecture "all" meet every qualifier. *)
let architecture_fits (relation : Relation.t) (package : Stanza.t) =
  Text.is_empty relation.architecture
  ||
  match Text.sub relation.name.text relation.architecture with
  | "any" | "native" -> true
  | wanted ->
    let actual = Text.sub package.name.text package.architecture in
    actual = wanted || actual = "all"

let find_package (catalogue : Catalogue.t) (relation : Relation.t) =
  let number = Catalogue.find catalogue relation.name in
  if number < 0 then None
  else
    let package = catalogue.packages.(number) in
    if
      architecture_fits relation package
      && Relation.meets relation package.name.text package.version
    then Some number
    else None

let offer_meets (relation : Relation.t) (offer : Offer.t) =
  match relation.bound with
  | Any -> true
  | _ ->
    (not (Text.is_empty offer.version)) && Relation.meets relation offer.name.text offer.version

let find_provider (catalogue : Catalogue.t) (table : Offer.table) relation =
  let rec go item =
    if item < 0 then None
    else
      let offer = table.offers.(item) in
      if
        offer_meets relation offer && architecture_fits relation catalogue.packages.(offer.provider)
      then Some offer.provider
      else go (Names.next table.names item)
  in
  go (Names.first table.names relation.Relation.name)

let resolve catalogue offers alternatives =
  match List.find_map (find_package catalogue) alternatives with
  | Some _ as found -> found
  | None -> List.find_map (find_provider catalogue offers) alternatives

let node (catalogue : Catalogue.t) offers package =
  let stanza = catalogue.packages.(package) in
  let targets = ref [] and unmet = ref 0 in
  let clause alternatives =
    match resolve catalogue offers alternatives with
    | None -> incr unmet
    | Some target -> if target <> package then targets := target :: !targets
  in
  Relation.iter_clauses stanza.name.text stanza.pre_depends clause;
  Relation.iter_clauses stanza.name.text stanza.depends clause;
  { targets = Array.of_list (List.sort_uniq Int.compare !targets); unmet = !unmet }
