(* Muster.Parallel.List against Stdlib.List; a scan against [fold_left_map]. *)

module Parallel = Muster_collections.List

let scan op = function
  | [] -> []
  | x :: l ->
    let step acc x =
      let next = op acc x in
      (next, next)
    in
    x :: snd (List.fold_left_map step x l)

let cases n =
  let open Arrays in
  let random = random_ints n in
  let l = Array.to_list random and body = body_of_20_ns () in
  let strings = List.map string_of_int l in
  let bar = Case.bar_of n in
  let note = if n = Case.small then bar else Case.Note in
  let case name against bar ours theirs =
    Case.make ("list, " ^ name) n ~against bar ~ours ~theirs
  in
  let chosen_20_ns x = is_chosen (body x) in
  [
    case "map, 20 ns" "List.map" bar (fun () -> Parallel.map body l) (fun () -> List.map body l);
    case "filter" "List.filter" bar
      (fun () -> Parallel.filter is_chosen l)
      (fun () -> List.filter is_chosen l);
    case "filter, 20 ns" "List.filter" note
      (fun () -> Parallel.filter chosen_20_ns l)
      (fun () -> List.filter chosen_20_ns l);
    case "scan" "fold_left_map" bar (fun () -> Parallel.scan plus l) (fun () -> scan plus l);
    case "sort ints" "List.sort" bar
      (fun () -> Parallel.sort Sorting.int_compare l)
      (fun () -> List.sort Sorting.int_compare l);
    case "sort strings" "List.sort" bar
      (fun () -> Parallel.sort String.compare strings)
      (fun () -> List.sort String.compare strings);
    case "map, x + 1" "List.map" note
      (fun () -> Parallel.map successor l)
      (fun () -> List.map successor l);
    case "iter, 20 ns" "List.iter" note
      (fun () -> Parallel.iter (fun x -> ignore (body x)) l)
      (fun () -> List.iter (fun x -> ignore (body x)) l);
    case "fold" "fold_left" (Case.Slower 1.1)
      (fun () -> Parallel.fold plus 0 l)
      (fun () -> List.fold_left plus 0 l);
    Case.make "seq, fold" n ~against:"fold_left" (Case.Slower 1.1)
      ~ours:(fun () -> Muster.Parallel.Seq.fold plus 0 (Seq.init n Fun.id))
      ~theirs:(fun () -> Seq.fold_left plus 0 (Seq.init n Fun.id));
    case "for_all" "List.for_all" note
      (fun () -> Parallel.for_all is_natural l)
      (fun () -> List.for_all is_natural l);
  ]
