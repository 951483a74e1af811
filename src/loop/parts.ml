let cut ?grain start finish =
  let span = Adaptive.span start finish in
  let few = Int.min Tuning.shortest_part ((span / Tuning.few_parts) + 1) in
  let usual = Int.max few ((span / Tuning.leaves) + 1) in
  Reduce.cut ~grain:(Option.value grain ~default:usual) start finish

let reduce ?grain ~start ~finish ~combine ~init f =
  Fiber.check ();
  if start > finish then init
  else
    let per_part, last = cut ?grain start finish in
    if last = 0 then
      let n = Adaptive.length start finish in
      Adaptive.beside_loop (Machine.code_of f) ~n (fun () -> f ~start ~finish)
    else
      let part i =
        let lo = start + (i * per_part) in
        f ~start:lo ~finish:(if i = last then finish else lo + per_part - 1)
      in
      let per_leaf = Int.min per_part (max_int / Tuning.leaves) in
      Reduce.over ~code:(Machine.code_of f) ~per_leaf ~last part combine

let parallel_reduce_range ?grain ~start ~finish ~combine ~init f =
  Loop.check_grain "parallel_reduce_range" grain;
  reduce ?grain ~start ~finish ~combine ~init f

let parallel_for_range ?grain ~start ~finish f =
  Loop.check_grain "parallel_for_range" grain;
  reduce ?grain ~start ~finish ~combine:(fun () () -> ()) ~init:() f
