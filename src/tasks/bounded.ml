let check fn max =
  if max < 1 then invalid_arg (Printf.sprintf "Muster.Task.%s: max = %d is less than 1" fn max)

let run ~max call elements =
  let t = Runners.make { max; before = ignore; call; after = ignore } elements in
  Scope.within (fun scope -> Task.join (Runners.start t scope));
  Runners.reraise t

let map ~max f l =
  check "map" max;
  let results = Array.make (List.length l) None in
  run ~max (fun i x -> results.(i) <- Some (f x)) (List.to_seq l);
  Array.fold_right (fun y ys -> Option.get y :: ys) results []

let each fn ~max f elements =
  check fn max;
  run ~max (fun _ x -> f x) elements

let iter ~max f l = each "iter" ~max f (List.to_seq l)
let iter_seq ~max f s = each "iter_seq" ~max f s
