(* Ways to do so many turns in a pool. *)

let rec halves lo hi f =
  if hi - lo <= 1 then f lo
  else
    let mid = (lo + hi) / 2 in
    ignore (Muster.both (fun () -> halves lo mid f) (fun () -> halves mid hi f))

let by_tasks ~tasks n f =
  let share k () =
    for i = k * n / tasks to ((k + 1) * n / tasks) - 1 do
      f i
    done
  in
  ignore (Muster.Task.all (List.init tasks share))

let all =
  [
    ("loop", fun ~domains:_ n f -> Muster.parallel_for ~start:0 ~finish:(n - 1) f);
    ("tasks", fun ~domains n f -> by_tasks ~tasks:domains n f);
    ("8 tasks each", fun ~domains n f -> by_tasks ~tasks:(8 * domains) n f);
    ("both", fun ~domains:_ n f -> halves 0 n f);
  ]
