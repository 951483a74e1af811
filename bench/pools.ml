module Pool = Muster.Pool

let warm_muster ?oversubscribe ~domains f =
  Pool.with_ ~name:"bench" ~domains ?oversubscribe (fun pool ->
      Muster.Team.broadcast pool ignore;
      f pool)

let muster ?oversubscribe ~domains f =
  warm_muster ?oversubscribe ~domains (fun pool -> Pool.run pool (fun () -> f pool))

let muster_outside ~domains f = warm_muster ~domains f

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
