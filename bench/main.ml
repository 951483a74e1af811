open Cmdliner

let all options =
  Fork.experiments options @ Region.experiments options @ Kernels.experiments options
  @ Programs.experiments options

let chosen only experiments =
  let named name (e : Experiment.t) = String.equal e.name name in
  let known name = List.exists (named name) experiments in
  match List.find_opt (fun name -> not (known name)) only with
  | Some name ->
    let names = List.map (fun (e : Experiment.t) -> e.name) experiments in
    let names = String.concat ", " names in
    Error (Printf.sprintf "--only %s: no such experiment; there are %s" name names)
  | None when only = [] -> Ok experiments
  | None ->
    let wanted e = List.exists (fun name -> named name e) only in
    Ok (List.filter wanted experiments)

let write_json ~facts outcomes file =
  Options.write file (Yojson.Safe.pretty_to_string (Report.json ~facts outcomes) ^ "\n")

let write_svg ~domains outcomes file =
  match Picture.svg ~domains outcomes with
  | Some svg -> Options.write file svg
  | None -> Printf.eprintf "bench: --svg %s: nothing to draw was measured\n" file

let domainslib = if Option.is_some Rival.runner then "installed" else "not installed: skipped"

let facts ~domains ~repeat ~quick =
  Machine.facts ()
  @ [
      ("Domainslib", domainslib);
      ("domains", string_of_int domains);
      ("rounds", string_of_int repeat);
      ("sizes", if quick then "quick: too small for the bars to mean anything" else "full");
    ]

let print ~markdown ~quick ~facts outcomes =
  let show = if markdown then Table.to_markdown else Table.to_text in
  let figures = Report.bars ~quick outcomes :: Report.tables outcomes in
  let tables = figures @ [ Machine.table facts ] in
  List.iter (fun table -> print_endline (show table)) tables

let bench domains repeat only json svg quick markdown rivals =
  let rivals = Option.fold ~none:Rivals.none ~some:Rivals.discover rivals in
  match chosen only (all { domains; quick; rivals }) with
  | Error reason -> `Error (false, reason)
  | Ok experiments ->
    let facts = facts ~domains ~repeat ~quick in
    let outcomes = List.map (Outcome.run ~repeat) experiments in
    print ~markdown ~quick ~facts outcomes;
    Option.iter (write_json ~facts outcomes) json;
    Option.iter (write_svg ~domains outcomes) svg;
    `Ok (if List.exists Outcome.failed outcomes then 1 else 0)

let domains =
  let doc = "Run on $(docv) domains or threads (by default, the CPUs' number)." in
  let cpus = Muster.Cpu.available () in
  Arg.(value & opt Options.positive cpus & info [ "domains" ] ~docv:"N" ~doc)

let repeat =
  let doc = "Take $(docv) rounds; in each, every contender runs once." in
  Arg.(value & opt Options.positive 5 & info [ "repeat" ] ~docv:"R" ~doc)

let only =
  let doc = "Run the experiment $(docv) only (can be repeated)." in
  Arg.(value & opt_all string [] & info [ "only" ] ~docv:"NAME" ~doc)

let json = Options.file "json" "Write everything that was measured to $(docv)."
let svg = Options.file "svg" "Draw the picture of the README into $(docv)."

let quick =
  let doc = "Use sizes so small that all takes seconds: shows that everything runs." in
  Arg.(value & flag & info [ "quick" ] ~doc)

let markdown = Arg.(value & flag & info [ "markdown" ] ~doc:"Print the tables as Markdown.")

let rivals =
  let doc = "Run the programs in $(docv) beside Muster; bench/rivals/run builds them." in
  Arg.(value & opt (some dir) None & info [ "rivals" ] ~docv:"DIR" ~doc)

let cmd =
  let doc = "Muster beside Domainslib and the sequential program, in turn in one run" in
  let term =
    Term.(const bench $ domains $ repeat $ only $ json $ svg $ quick $ markdown $ rivals)
  in
  Cmd.v (Cmd.info "bench" ~doc) (Term.ret term)

let () = exit (Cmd.eval' cmd)
