let check fn max =
  if max < 1 then invalid_arg (Printf.sprintf "Muster.Task.%s: max = %d is less than 1" fn max)

let run ~max ~code call elements =
  let t = Runners.make { max; code; before = ignore; call; after = ignore } elements in
  Scope.within (fun scope -> Task.join (Runners.start t scope));
  Runners.reraise t

let map ~max f l =
  check "map" max;
  let results = Array.make (List.length l) None in
  let code = Machine.code_of f in
  run ~max ~code (fun i x -> results.(i) <- Some (f x)) (List.to_seq l);
  Array.fold_right (fun y ys -> Option.get y :: ys) results []

let each fn ~max f elements =
  check fn max;
  run ~max ~code:(Machine.code_of f) (fun _ x -> f x) elements

let iter ~max f l = each "iter" ~max f (List.to_seq l)
let iter_seq ~max f s = each "iter_seq" ~max f s
