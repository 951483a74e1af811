type sample = float array

let in_turn ~repeat run contenders =
  let samples = List.map (fun c -> (c, Array.make repeat nan)) contenders in
  let back = List.rev samples in
  for round = 0 to repeat - 1 do
    let order = if round land 1 = 0 then samples else back in
    List.iter (fun (c, sample) -> sample.(round) <- run ~round c) order
  done;
  samples

let of_runs = Array.of_list
let runs = Array.to_list
let minimum sample = Array.fold_left Float.min infinity sample

let median sample =
  let sorted = Array.copy sample in
  Array.sort Float.compare sorted;
  let n = Array.length sorted in
  if Array.exists Float.is_nan sorted then nan else (sorted.((n - 1) / 2) +. sorted.(n / 2)) /. 2.

let median_ratio a b = median (Array.map2 ( /. ) a b)

let per_call ~budget f =
  let rec batch n =
    let elapsed =
      Clock.time (fun () ->
          for _ = 1 to n do
            f ()
          done)
    in
    if elapsed >= budget then elapsed /. float_of_int n else batch (2 * n)
  in
  batch 1
