type t = { name : Name.t; version : Text.span; provider : int }

let of_relation provider (relation : Relation.t) =
  { name = relation.name; version = relation.version; provider }

let of_package (catalogue : Catalogue.t) provider =
  let stanza = catalogue.packages.(provider) in
  if Text.is_empty stanza.provides then [||]
  else begin
    let offers = ref [] in
    Relation.iter_clauses stanza.name.text stanza.provides (fun relations ->
        List.iter (fun r -> offers := of_relation provider r :: !offers) relations);
    Array.of_list (List.rev !offers)
  end

type table = { offers : t array; names : Names.t }
