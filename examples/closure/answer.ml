type t = { stanzas : int; packages : Stanza.t array; graph : Graph.t; weight : Weigh.weight }

let same_package (a : Stanza.t) (b : Stanza.t) =
  let version (s : Stanza.t) = Text.sub s.name.text s.version in
  Name.equal a.name b.name && String.equal (version a) (version b)

let first_difference equal a b =
  let rec go i =
    if i = Array.length a then None else if equal a.(i) b.(i) then go (i + 1) else Some i
  in
  go 0

let difference a b =
  let at what equal of_answer =
    Option.map
      (fun p -> Printf.sprintf "%s of %s" what (Name.to_string a.packages.(p).name))
      (first_difference equal (of_answer a) (of_answer b))
  in
  if Array.length a.packages <> Array.length b.packages then Some "the number of packages"
  else
    List.find_map Fun.id
      [
        at "the newest version" same_package (fun t -> t.packages);
        at "the dependencies" ( = ) (fun t -> t.graph);
        at "the number of packages" Int.equal (fun t -> t.weight.count);
        at "the size" Int.equal (fun t -> t.weight.size);
      ]

let heaviest t n =
  let heavier p q =
    match Int.compare t.weight.size.(q) t.weight.size.(p) with
    | 0 -> Name.compare t.packages.(p).name t.packages.(q).name
    | order -> order
  in
  let order = Array.init (Array.length t.packages) Fun.id in
  Array.stable_sort heavier order;
  Array.to_list (Array.sub order 0 (min n (Array.length order)))

let total of_node t = Array.fold_left (fun sum node -> sum + of_node node) 0 t.graph
let edges = total (fun (node : Graph.node) -> Array.length node.targets)
let unmet = total (fun (node : Graph.node) -> node.unmet)
