module Pool = Muster.Pool

let name = "bench"

let warmed f pool =
  Muster.Team.broadcast pool ignore;
  f pool

let muster ?oversubscribe ~domains f = Pool.with_ ~name ~domains ?oversubscribe (warmed f)

let muster_outside ~domains f =
  let pool = Pool.create ~name ~domains () in
  Fun.protect ~finally:(fun () -> Pool.close pool) (fun () -> warmed f pool)

(* Domainslib has no call that reaches every domain; a long loop does. *)
let warm pool = Rival.parallel_for pool ~start:1 ~finish:10_000 ignore

let contenders ~domains ~muster:on_muster ~domainslib : Experiment.contender list =
  let rival { Rival.run } : Experiment.contender =
    let warmed pool =
      warm pool;
      domainslib pool
    in
    { who = Experiment.domainslib domains; run = (fun () -> run ~domains warmed) }
  in
  { who = Experiment.muster domains; run = (fun () -> muster ~domains on_muster) }
  :: List.map rival (Option.to_list Rival.runner)
