(* The rule of Governor, played against what busy threads of a real machine saw (traces/, made by
   record.ml), against made-up larger machines, and checked for what holds of any sample. *)

open Harness
open Muster_core

let ms = 1_000_000

(* {1 A machine of two CPUs, from traces} *)

let here = Filename.dirname Sys.executable_name

type situation = { alone : Trace.t; both : Trace.t }

let situation name =
  let trace threads = Trace.read (Printf.sprintf "%s/%s.%d" here name threads) in
  { alone = trace 1; both = trace 2 }

let quiet = situation "quiet"
let neighbours n = situation (Printf.sprintf "neighbours-%d" n)

type run = { state : Governor.t; now : int; idle : int; changes : (int * int) list }
(** When the number of CPUs lent became what, last first. *)

let start = { state = Governor.start; now = 0; idle = 0; changes = [ (0, 0) ] }

(* A worker asks the governor only where Load.look does. *)
let observe ~cpus state (sample : Governor.sample) =
  if sample.waited < Governor.noticed && not (Governor.is_watching state) then state
  else Governor.observe ~cpus ~online:cpus state sample

(* The number of workers that is left decides which trace is read. *)
let rec play ?(blind = false) ~until situation run =
  let trace = if run.state.lent = 0 then situation.both else situation.alone in
  let { Trace.now; waited; runnable } = Trace.next trace run.now in
  if now > until then { run with now = until }
  else begin
    let idle = run.idle + ((now - run.now) * Int.max 0 (2 - runnable)) in
    let seen () = if blind then None else Some idle in
    let state = observe ~cpus:2 run.state { now; waited; often_halted = true; idle = seen } in
    let changed = state.lent <> run.state.lent in
    let changes = if changed then (now, state.lent) :: run.changes else run.changes in
    play ~blind ~until situation { state; now; idle; changes }
  end

let seconds s = s * 1000 * ms

(* Time from [from] on during which the number lent was as it should be at that time. *)
let share_right ?(from = 0) ~right run =
  let step = ms in
  let lent at = snd (List.find (fun (since, _) -> since <= at) run.changes) in
  let rec count at n total =
    if at >= run.now then float n /. float total
    else count (at + step) (if lent at = right at then n + 1 else n) (total + 1)
  in
  count from 0 0

let flips ?(from = 0) run = List.length (List.filter (fun (at, _) -> at >= from) run.changes)

let has what value ~least =
  Printf.printf "%s: %.3f\n" what value;
  if value < least then failf "%s: %.3f" what value

let at_most what value ~limit =
  Printf.printf "%s: %d\n" what value;
  if value > limit then failf "%s: %d, at most %d" what value limit

(* MUSTER_DOMAINS may ask for more than there are. *)
let lends_what_is_not_there_first () =
  let lent cpus =
    let look state now =
      let sample = { Governor.now; waited = 4 * ms; often_halted = true; idle = Fun.const None } in
      Governor.observe ~cpus ~online:2 state sample
    in
    (List.fold_left look Governor.start (List.init 12 (fun i -> i * 4 * ms))).lent
  in
  check_int "of 2" 1 (lent 2);
  check_int "of 128" 126 (lent 128)

let nobody_is_sent_away_when_quiet () =
  let run = play ~until:(seconds 20) quiet start in
  has "time with both" (share_right run ~right:(fun _ -> 0)) ~least:0.98;
  at_most "flips in 20 s" (flips run) ~limit:200

let short_disturbances_cost_little () =
  let run = play ~until:(seconds 20) (situation "disturbed") start in
  has "time with both" (share_right run ~right:(fun _ -> 0)) ~least:0.8

let first_change ~from run =
  List.fold_left (fun first (at, _) -> if at >= from then at else first) max_int run.changes

(* For neighbours that come at different points of the traces. *)
let arrives n () =
  let busy = neighbours n in
  let limit = 200 in
  let arrival shift =
    let came = seconds 1 + (shift * 37 * ms) in
    let run = play ~until:(came + seconds 10) busy { start with now = came } in
    at_most "ms until a worker leaves" ((first_change ~from:came run - came) / ms) ~limit;
    let right _ = 1 in
    has "stays away" (share_right ~from:(came + (limit * ms)) run ~right) ~least:0.97;
    at_most "flips in 10 s" (flips ~from:came run) ~limit:60
  in
  List.iter arrival (List.init 20 Fun.id)

let leaves n () =
  let departure shift =
    let went = seconds 2 + (shift * 37 * ms) in
    let run = play ~until:went (neighbours n) start in
    let run = play ~until:(went + seconds 2) quiet run in
    let right _ = 0 in
    has "back" (share_right ~from:(went + (80 * ms)) run ~right) ~least:0.9
  in
  List.iter departure (List.init 20 Fun.id)

let comes_and_goes () =
  let run = play ~until:(seconds 16) (situation "changing") start in
  let right at = if at / ms mod 400 < 200 then 1 else 0 in
  has "right" (share_right run ~right) ~least:0.75

(* Blind, nothing but trials tell that a CPU is free. *)
let blind_beside_a_neighbour () =
  let run = play ~blind:true ~until:(seconds 30) (neighbours 1) start in
  let is_trial (at, lent) = lent = 0 && at >= seconds 10 in
  at_most "trials in 20 s" (List.length (List.filter is_trial run.changes)) ~limit:30;
  has "away" (share_right ~from:(seconds 10) run ~right:(fun _ -> 1)) ~least:0.9;
  at_most "patience" run.state.patience ~limit:Governor.longest

let blind_when_quiet () =
  let run = play ~blind:true ~until:(seconds 20) quiet start in
  has "time with both" (share_right run ~right:(fun _ -> 0)) ~least:0.98

let blind_and_left_alone () =
  let run = play ~blind:true ~until:(seconds 10) (neighbours 1) start in
  let run = play ~blind:true ~until:(seconds 14) quiet run in
  let right _ = 0 in
  has "back" (share_right ~from:(seconds 12) run ~right) ~least:0.9

(* {1 Larger machines, made up}

   Workers look in turn, each every 2 ms. Where there are more threads than CPUs, as many workers
   as there are too many share a CPU with a neighbour: each waits for 4 ms in every 8. *)

let made_up ~cpus ~neighbours ~idle state turn now =
  let workers = cpus - state.Governor.lent in
  let shares = turn mod workers < workers + neighbours - cpus in
  let waited = if shares && turn / workers mod 4 = 3 then 4 * ms else 0 in
  Governor.{ now; waited; often_halted = true; idle = Fun.const (Some idle) }

let rec play_made_up ?(turn = 0) ?(idle = 0) ~cpus ~neighbours ~from ~until state =
  if from > until then state
  else
    let state = observe ~cpus state (made_up ~cpus ~neighbours ~idle state turn from) in
    let workers = cpus - state.lent in
    let step = 2 * ms / workers in
    let idle = idle + (step * Int.max 0 (cpus - workers - neighbours)) in
    play_made_up ~turn:(turn + 1) ~idle ~cpus ~neighbours ~from:(from + step) ~until state

(* As many leave as there are neighbours, one CPU being ours in any case; all come back. *)
let large cpus () =
  let with_neighbours n =
    let busy = play_made_up ~cpus ~neighbours:n ~from:0 ~until:(seconds 2) Governor.start in
    check_int (Printf.sprintf "lent to %d neighbours" n) (min n (cpus - 1)) busy.lent;
    let back = play_made_up ~cpus ~neighbours:0 ~from:(seconds 2) ~until:(seconds 4) busy in
    check_int (Printf.sprintf "lent after %d neighbours" n) 0 back.lent
  in
  List.iter with_neighbours (List.init cpus succ)

(* {1 What holds of any sample} *)

type case = { cpus : int; online : int; samples : Governor.sample list }

let sample_after now =
  let open QCheck.Gen in
  let* step = oneof [ int_bound (4 * ms); int_bound (100 * ms) ] in
  let* waited = oneof [ return 0; int_bound (3 * ms); int_bound (50 * ms) ] in
  let* often_halted = map (fun n -> n > 0) (int_bound 9) in
  let+ busy = oneof [ return None; map Option.some (int_range 0 8) ] in
  let idle = Option.map (fun busy -> now / 8 * busy) busy in
  Governor.{ now = now + step; waited; often_halted; idle = Fun.const idle }

let samples =
  let open QCheck.Gen in
  let rec more n now =
    if n = 0 then return []
    else
      let* sample = sample_after now in
      let+ others = more (n - 1) sample.now in
      sample :: others
  in
  let* n = int_bound 200 in
  more n 0

let case_gen =
  let open QCheck.Gen in
  let* cpus = one_of [ 1; 2; 3; 8; 64 ] in
  let* more = one_of [ 0; 0; 6 ] in
  let+ samples = samples in
  { cpus; online = cpus + more; samples }

let show { cpus; online; samples } =
  let sample Governor.{ now; waited; often_halted; idle } =
    let idle = Option.fold ~none:"?" ~some:string_of_int (idle ()) in
    Printf.sprintf "%d: waited %d, often halted %b, idle %s" now waited often_halted idle
  in
  Printf.sprintf "%d of %d CPUs\n%s" cpus online (String.concat "\n" (List.map sample samples))

(* [holds before sample after] at each step. *)
let law name holds =
  let check { cpus; online; samples } =
    let step state sample =
      let after = Governor.observe ~cpus ~online state sample in
      if not (holds ~cpus ~online state sample after) then
        QCheck.Test.fail_reportf "at %d: lent %d, then %d" sample.Governor.now state.Governor.lent
          after.Governor.lent;
      after
    in
    ignore (List.fold_left step Governor.start samples);
    true
  in
  QCheck_alcotest.to_alcotest
    (QCheck.Test.make ~count:1000 ~name (QCheck.make ~print:show case_gen) check)

let laws =
  [
    law "one CPU is never lent" (fun ~cpus ~online:_ _ _ after ->
        after.lent >= 0 && after.lent < cpus);
    law "workers that have not waited lend nothing" (fun ~cpus:_ ~online:_ before sample after ->
        before.waited + sample.waited > 0 || after.lent <= before.lent);
    law "a decision takes some time" (fun ~cpus ~online:_ before sample after ->
        after.lent = before.lent
        || before.lent >= cpus
        || (not sample.often_halted)
        || sample.now - before.since >= Governor.shortest);
    law "nothing is lent where collections are rare" (fun ~cpus:_ ~online:_ _ sample after ->
        sample.often_halted || after.lent = 0);
    law "patience is bounded" (fun ~cpus:_ ~online:_ _ _ after ->
        after.patience >= Governor.shortest && after.patience <= Governor.longest);
    law "a CPU just lent is not taken back in the same step" (fun ~cpus ~online before sample after ->
        let again = Governor.observe ~cpus ~online after { sample with waited = 0 } in
        after.lent <= before.lent || again.lent = after.lent);
  ]

let fewer_cpus () =
  let state = { Governor.start with lent = 5 } in
  let sample = Governor.{ now = seconds 1; waited = 0; often_halted = true; idle = Fun.const None } in
  check_int "of 3" 2 (Governor.observe ~cpus:3 ~online:8 state sample).lent;
  check_int "of 1" 0 (Governor.observe ~cpus:1 ~online:8 state sample).lent

(* {1 Collections} *)

(* So many in each of so many ns of the process's CPU time. *)
let halts ?(cpus = 2) ?(running = cpus) ?(from = Collection_rate.start) ~every n =
  let step (t : Collection_rate.t) i =
    Collection_rate.observe ~cpus ~running t ~cpu:(from.cpu + (i * every)) ~collections:(from.collections + i)
  in
  List.fold_left step from (List.init n succ)

let rare_collections_do_no_harm () =
  let rarely = halts ~every:(50 * ms) 10 in
  check_bool "unknown" true Collection_rate.start.often;
  check_bool "rarely" false rarely.often;
  check_bool "often, at once" true (halts ~from:rarely ~every:ms 5).often;
  check_bool "alone" false (halts ~running:1 ~every:(50 * ms) 10).often;
  check_bool "one of many workers" true (halts ~cpus:16 ~running:16 ~every:(50 * ms) 10).often;
  check_bool "one CPU" false (halts ~cpus:1 ~every:ms 200).often;
  let unknown = Collection_rate.observe ~cpus:2 ~running:2 rarely ~cpu:(-1) ~collections:1_000 in
  check_bool "no clock" true (unknown == rarely)

let () =
  let for_each name counts f = List.map (fun n -> case (Printf.sprintf name n) (f n)) counts in
  Alcotest.run "governor"
    [
      ( "two CPUs",
        [
          case "a quiet machine: all CPUs are used" nobody_is_sent_away_when_quiet;
          case "CPUs that the machine does not have are lent first" lends_what_is_not_there_first;
          case "short disturbances cost little" short_disturbances_cost_little;
          case "neighbours come and go" comes_and_goes;
        ]
        @ for_each "%d busy processes arrive" [ 1; 2; 4 ] arrives
        @ for_each "%d busy processes leave" [ 1; 2; 4 ] leaves );
      ( "without counts of threads",
        [
          case "without counts of threads, beside a neighbour" blind_beside_a_neighbour;
          case "a quiet machine: all CPUs are used" blind_when_quiet;
          case "without counts of threads, when the neighbour ends" blind_and_left_alone;
        ] );
      ("larger machines", for_each "%d CPUs" [ 3; 8; 64 ] large);
      ("collections", [ case "rare collections lend no CPU" rare_collections_do_no_harm ]);
      ("any samples", case "fewer CPUs than were lent" fewer_cpus :: laws);
    ]
