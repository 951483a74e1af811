(* Never slower than the sequential program: whatever the machine does.

   Four programs (a fork at every call of fib 38, tree builders, the spectral norm, the
   package closure) run in every situation of [Situations] beside their sequential twins,
   in turn, and a row says what came of it. Every run is a process of its own, with
   default settings: this very program with one of the hidden sub-commands below.

   How the bars are read. Asked for 3 to 200 domains, a program takes at most 1.05 times
   what it takes with 2; asked for 1 it can only be as fast as the sequential program, so
   it is held against that. Beside one neighbour, "better than the sequential program
   where a core is free" means a core that neither the neighbour nor the sequential
   program has. Neighbours that come and go are as many as there are CPUs: every 200 ms
   one comes or one goes, so that on two CPUs there are 0, 1, 2, 1, 0 … of them, and the
   programs run again and again for those 10 s, in one process with one pool. The medians
   decide, since the minima belong to the moments without disturbance. *)

open Cmdliner

let chosen ~option all name only =
  let known wanted = List.exists (fun it -> String.equal (name it) wanted) all in
  match List.find_opt (fun wanted -> not (known wanted)) only with
  | Some unknown ->
    let names = String.concat ", " (List.map name all) in
    Error (Printf.sprintf "--%s %s: there are %s" option unknown names)
  | None -> Ok (List.filter (fun it -> only = [] || List.mem (name it) only) all)

let facts (options : Turns.options) =
  let rounds = string_of_int options.repeat in
  Machine.facts () @ [ ("rounds", rounds) ]

let write_json ~facts rows file =
  let rows = `List (List.map Row.json rows) in
  let report = `Assoc [ ("machine", Machine.json facts); ("rows", rows) ] in
  Options.write file (Yojson.Safe.pretty_to_string report ^ "\n")

let measure (options : Turns.options) situations ~json ~markdown =
  let facts = facts options in
  let rows = List.concat_map (Situations.run options) situations in
  let show = if markdown then Table.to_markdown else Table.to_text in
  List.iter (fun table -> print_endline (show table)) [ Row.table rows; Machine.table facts ];
  print_endline (Row.summary rows);
  Option.iter (write_json ~facts rows) json;
  rows

let never repeat quick only programs before json markdown strict =
  let situations = chosen ~option:"only" Situations.all Situations.name only in
  let jobs = chosen ~option:"program" Job.all Job.name programs in
  match (situations, jobs) with
  | Error reason, _ | _, Error reason -> `Error (false, reason)
  | Ok situations, Ok jobs ->
    let repeat = Option.value repeat ~default:(if quick then 2 else 5) in
    let program name = List.exists (fun job -> Job.name job = name) jobs in
    let options = { Turns.repeat; quick; program; before } in
    let rows = measure options situations ~json ~markdown in
    let missed = strict && List.exists (fun row -> Row.verdict row = Missed) rows in
    `Ok (if missed || List.exists Row.failed rows then 1 else 0)

(* ---- The command line ---- *)

let names name all = String.concat ", " (List.map name all)

let repeat =
  let doc = "Take $(docv) rounds (by default 5); in each, every contender runs once." in
  Arg.(value & opt (some Options.positive) None & info [ "repeat" ] ~docv:"N" ~doc)

let quick =
  let doc = "Take two rounds, and 2 s instead of 10 s beside changing neighbours." in
  Arg.(value & flag & info [ "quick" ] ~doc)

let only =
  let doc =
    "Only the situation $(docv) (can be repeated), one of " ^ names Situations.name Situations.all
  in
  Arg.(value & opt_all string [] & info [ "only" ] ~docv:"SITUATION" ~doc)

let programs =
  let doc =
    "Of the programs, measure only $(docv) (can be repeated), one of " ^ names Job.name Job.all
  in
  Arg.(value & opt_all string [] & info [ "program" ] ~docv:"PROGRAM" ~doc)

let before =
  let doc = "For quiet-bars: bench/main.exe, as built from an earlier version." in
  Arg.(value & opt (some file) None & info [ "before" ] ~docv:"FILE" ~doc)

let json = Options.file "json" "Write all that was measured to $(docv)."
let markdown = Arg.(value & flag & info [ "markdown" ] ~doc:"Print Markdown.")
let strict = Arg.(value & flag & info [ "strict" ] ~doc:"Exit with 1 if a bar is missed.")

let never =
  Term.(const never $ repeat $ quick $ only $ programs $ before $ json $ markdown $ strict)

(* ---- The children ---- *)

let word number kind = Arg.(required & pos number (some kind) None & info [])

let how =
  let parse text = Option.to_result ~none:(`Msg text) (Job.of_label text) in
  Arg.conv (parse, fun out how -> Format.pp_print_string out (Job.label how))

let children =
  let child name term =
    let print figures =
      Figures.print figures;
      0
    in
    Cmd.v (Cmd.info name ~docs:Manpage.s_none) Term.(const print $ term)
  in
  let jobs = Arg.enum (List.map (fun job -> (Job.name job, job)) Job.all) in
  let run_job job how seconds = Job.run job how ~seconds in
  let tiny caller iterations rounds = Loops.tiny caller ~iterations ~rounds in
  let sweep body microseconds rounds = Loops.sweep body ~microseconds ~rounds in
  let wait wait rounds = Waits.run wait ~rounds in
  let idle seconds = Idle.cpu_of_pool ~seconds in
  let await seconds = Idle.cpu_of_await ~seconds in
  let region after times = Idle.first_region ~after ~times in
  let int = Options.positive in
  [
    child "job" Term.(const run_job $ word 0 jobs $ word 1 how $ word 2 Arg.float);
    child "tiny" Term.(const tiny $ word 0 (Arg.enum Loops.callers) $ word 1 int $ word 2 int);
    child "sweep" Term.(const sweep $ word 0 (Arg.enum Loops.bodies) $ word 1 int $ word 2 int);
    child "wait" Term.(const wait $ word 0 (Arg.enum Waits.waits) $ word 1 int);
    child "phase" Term.(const Idle.phase $ word 0 (Arg.enum Phase.all));
    child "idle-cpu" Term.(const idle $ word 0 Arg.float);
    child "await-cpu" Term.(const await $ word 0 Arg.float);
    child "first-region" Term.(const region $ word 0 Arg.float $ word 1 int);
  ]

let neighbour =
  let busy shift seconds =
    let of_triple (every, index, count) = { Neighbour.every; index; count } in
    Neighbour.busy ?shift:(Option.map of_triple shift) ~seconds ();
    0
  in
  let triple = Arg.(t3 float int int) in
  let shift = Arg.(value & opt (some triple) None & info [ "shift" ]) in
  Cmd.v (Cmd.info "neighbour" ~docs:Manpage.s_none) Term.(const busy $ shift $ word 0 Arg.float)

let cmd =
  let doc = "is a program with Muster ever slower than the sequential one?" in
  let failed =
    Cmd.Exit.info 1 ~doc:"if something failed; with $(b,--strict), if a bar is missed."
  in
  let exits = failed :: Cmd.Exit.defaults in
  let info = Cmd.info "never" ~doc ~exits in
  Cmd.group ~default:(Term.ret never) info (neighbour :: children)

let () = exit (Cmd.eval' cmd)
