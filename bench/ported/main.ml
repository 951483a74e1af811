(* Programs written against Domainslib's interface, on muster.domainslib and on Domainslib.

   Every run is a process of its own, this very program with the argument [child]; a round runs
   each program on both libraries, in turn, and the medians of the rounds' ratios decide. Bars: no
   program is slower than on Domainslib ([tolerance] is for what a machine does between two
   runs), and the fine-grained ones, whose tasks or loops take about as long as Domainslib needs
   to hand them out, are at least 3 times faster. *)

open Cmdliner

let tolerance = 1.05

let read_lines command =
  let input = Unix.open_process_args_in command.(0) command in
  let lines = In_channel.input_all input |> String.trim |> String.split_on_char '\n' in
  match Unix.close_process_in input with
  | WEXITED 0 -> lines
  | _ -> failwith (String.concat " " (Array.to_list command) ^ " failed")

type program = { name : string; fine : bool }

let programs ~quick =
  let describe program = { name = Program.name program; fine = Program.is_fine program } in
  List.map describe (Ported_ours.all ~quick)

(* Median time of the runs in one process, and the answer. *)
let run library { name; _ } ~domains ~runs ~quick =
  let number = string_of_int in
  let command =
    [|
      Sys.executable_name;
      "child";
      library;
      name;
      number (domains - 1);
      number runs;
      string_of_bool quick;
    |]
  in
  match List.rev (read_lines command) with
  | answer :: times -> (Measure.median (Measure.of_runs (List.map float_of_string times)), answer)
  | [] -> assert false

type row = { program : program; ours : Measure.sample; theirs : Measure.sample }

let measure program ~repeat ~domains ~runs ~quick =
  let answers = ref [] in
  let once ~round:_ library =
    let time, answer = run library program ~domains ~runs ~quick in
    answers := answer :: !answers;
    time
  in
  let samples = Measure.in_turn ~repeat once [ "ours"; "theirs" ] in
  if List.exists (fun answer -> answer <> List.hd !answers) !answers then
    failwith (program.name ^ ": different answers");
  { program; ours = List.assoc "ours" samples; theirs = List.assoc "theirs" samples }

(* On one domain Domainslib hands nothing out. *)
let bar ~domains row = if row.program.fine && domains > 1 then 3. else 1. /. tolerance
let ratio row = Measure.median_ratio row.theirs row.ours
let passed ~domains row = ratio row >= bar ~domains row

let cells ~domains row =
  [
    row.program.name;
    Clock.show (Measure.median row.ours);
    Clock.show (Measure.median row.theirs);
    Printf.sprintf "%.2f" (ratio row);
    (if bar ~domains row > 1. then "3 times faster" else "as fast");
    (if passed ~domains row then "ok" else "MISSED");
  ]

let table ~domains rows =
  {
    Table.title = Printf.sprintf "On %d domains, medians" domains;
    header = [ "program"; "muster.domainslib"; "domainslib"; "ratio"; "bar"; "" ];
    rows = List.map (cells ~domains) rows;
  }

let print ~domains ~quick ~markdown rows =
  let show = if markdown then Table.to_markdown else Table.to_text in
  print_endline (show (table ~domains rows));
  let sizes = if quick then "quick: too small for the bars to mean anything" else "full" in
  let facts = Muster_bench.Machine.(table (facts () @ [ ("sizes", sizes) ])) in
  print_endline (show facts);
  let met = List.length (List.filter (passed ~domains) rows) in
  Printf.printf "%d of %d bars met\n" met (List.length rows)

let main repeat runs domains quick only markdown strict =
  if Option.is_none Theirs.library then begin
    print_endline "Domainslib is not here: nothing to compare with.";
    0
  end
  else begin
    let is_wanted program = only = [] || List.mem program.name only in
    let wanted = List.filter is_wanted (programs ~quick) in
    let rows = List.map (measure ~repeat ~domains ~runs ~quick) wanted in
    print ~domains ~quick ~markdown rows;
    if strict && not (List.for_all (passed ~domains) rows) then 1 else 0
  end

(* ---- The command line ---- *)

let number name ~default doc =
  Arg.(value & opt Options.positive default & info [ name ] ~docv:"N" ~doc)

let only =
  let doc = "Only the program $(docv); can be repeated." in
  let names = List.map (fun program -> (program.name, program.name)) (programs ~quick:true) in
  Arg.(value & opt_all (enum names) [] & info [ "only" ] ~docv:"PROGRAM" ~doc)

let flag name doc = Arg.(value & flag & info [ name ] ~doc)
let domains = Muster.Cpu.available ()

let bench =
  Term.(
    const main
    $ number "repeat" ~default:5 "Rounds."
    $ number "runs" ~default:3 "Runs of a program in one process."
    $ number "domains" ~default:domains "Workers, the caller's included."
    $ flag "quick" "Sizes that only show that everything runs."
    $ only $ flag "markdown" "Print Markdown."
    $ flag "strict" "Exit with 1 if a bar is missed.")

let child =
  let word number kind = Arg.(required & pos number (some kind) None & info []) in
  let run library name num_domains runs quick =
    Child.run library name ~num_domains ~runs ~quick;
    0
  in
  Cmd.v
    (Cmd.info "child" ~docs:Manpage.s_none)
    Term.(
      const run $ word 0 Arg.string $ word 1 Arg.string $ word 2 Arg.int $ word 3 Arg.int
      $ word 4 Arg.bool)

let () =
  let doc = "programs of Domainslib's interface, on muster.domainslib and on Domainslib" in
  exit (Cmd.eval' (Cmd.group ~default:bench (Cmd.info "bench-ported" ~doc) [ child ]))
