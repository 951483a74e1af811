(* The collections beside the stdlib's, in turn. Long ones: the stdlib's without any pool, Muster's
   in a new pool that is up and warm, so that nobody pays for another's domains. Short ones: both
   in the same pool, as parts of one program, some turns in each round: where a pool's heaps lie in memory makes more
   of a difference than what is compared. The ratio of the minima decides, as they are closest to a quiet machine;
   beside it the median of the rounds' own ratios. *)

open Case

type options = { domains : int; repeat : int; quick : bool; only : string list }

let budget options = if options.quick then 1e5 else 3e7

let time options f =
  f ();
  Measure.per_call ~budget:(budget options) f

(* In the state in which a program is that goes on: the first calls in a compacted heap and new minor heaps wait for the kernel's
   pages. *)
let time_long options f =
  ignore (Measure.per_call ~budget:(5. *. budget options) f);
  time options f

let in_pool options f =
  Muster.Pool.with_ ~domains:options.domains (fun pool ->
      Muster.Team.broadcast pool ignore;
      f ())

let settings = Gc.get ()

let begin_afresh () =
  Gc.set settings;
  Gc.compact ()

let long_samples options case =
  let run ~round:_ side =
    begin_afresh ();
    match side with
    | `Theirs -> time_long options case.theirs
    | `Ours -> in_pool options (fun () -> time_long options case.ours)
  in
  let samples = Measure.in_turn ~repeat:options.repeat run [ `Theirs; `Ours ] in
  (List.assoc `Theirs samples, List.assoc `Ours samples)

let turns = 4

let short_samples options case =
  let turn ~round:_ = function
    | `Theirs -> time options case.theirs
    | `Ours -> time options case.ours
  in
  let round _ =
    begin_afresh ();
    let samples =
      in_pool options (fun () -> Measure.in_turn ~repeat:turns turn [ `Theirs; `Ours ])
    in
    let least side = Measure.minimum (List.assoc side samples) in
    (least `Theirs, least `Ours)
  in
  let theirs, ours = List.split (List.init options.repeat round) in
  (Measure.of_runs theirs, Measure.of_runs ours)

let samples options case =
  if case.n > Case.small then long_samples options case else short_samples options case

let verdict case ratio =
  match case.bar with
  | Faster x -> (Printf.sprintf "at least %.2f" x, Some (ratio >= x))
  | Slower x -> (Printf.sprintf "at least 1/%.2f = %.2f" x (1. /. x), Some (ratio >= 1. /. x))
  | Note -> ("", None)

let row options case =
  let theirs, ours = samples options case in
  let median = Measure.median_ratio theirs ours in
  let minima = Measure.(minimum theirs /. minimum ours) in
  let bar, passed = verdict case minima in
  let each sample = Clock.show (Measure.minimum sample) in
  let passed = match passed with None -> "" | Some p -> if p then "pass" else "FAIL" in
  [
    Printf.sprintf "%s, n = %d" case.name case.n;
    case.against;
    each theirs;
    each ours;
    Printf.sprintf "%.2f" minima;
    Printf.sprintf "%.2f" median;
    bar;
    passed;
  ]

let of_length n = Arrays.cases n @ Sorting.cases n @ Lists.cases n
let begins prefix case = String.starts_with ~prefix case.name

let cases options =
  let large = if options.quick then 10_000 else Case.large in
  let all =
    List.concat_map of_length [ large; Case.small ]
    @ Numbers.cases ~quick:options.quick
    @ Folds.cases ~quick:options.quick
  in
  let is_none prefix = not (List.exists (begins prefix) all) in
  let is_wanted case = options.only = [] || List.exists (fun it -> begins it case) options.only in
  match List.find_opt is_none options.only with
  | Some name -> Error (Printf.sprintf "--only %s: no operation begins so" name)
  | None -> Ok (List.filter is_wanted all)

let measure options cases =
  print_string (Table.to_text (Machine.table (Machine.facts ())));
  let header =
    [ "operation"; "stdlib's"; "stdlib"; "Muster"; "times faster"; "median"; "bar"; "" ]
  in
  let rows = List.map (row options) cases in
  let title = Printf.sprintf "%d domains, minima of %d rounds" options.domains options.repeat in
  print_string (Table.to_text { title; header; rows })

let main domains repeat quick only =
  let options = { domains; repeat; quick; only } in
  match cases options with
  | Ok cases -> `Ok (measure options cases)
  | Error reason -> `Error (false, reason)

open Cmdliner

let domains = Arg.(value & opt Options.positive 2 & info [ "domains" ] ~docv:"N")
let repeat = Arg.(value & opt Options.positive 5 & info [ "repeat" ] ~docv:"N")
let quick = Arg.(value & flag & info [ "quick" ] ~doc:"Sizes that only show that all runs.")
let only = Arg.(value & opt_all string [] & info [ "only" ] ~doc:"Operations that begin so.")

let () =
  let info = Cmd.info "main" ~doc:"Collections beside the stdlib's" in
  exit (Cmd.eval (Cmd.v info Term.(ret (const main $ domains $ repeat $ quick $ only))))
