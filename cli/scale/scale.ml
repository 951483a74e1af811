open Cmdliner
module Cpu = Muster_core.Cpu

(* {2 What is tried} *)

(* The CPUs' time that there is: of two CPUs under a quota of one and a half, 1.5. *)
let cpus_of (report : Cpu.report) =
  let affinity = float_of_int report.affinity in
  match report.quota with
  | Some { cpus = Some quota; _ } -> Float.min quota affinity
  | _ -> affinity

(* All numbers up to eight CPUs, then powers of two; and one and a half and two times the CPUs. *)
let default_counts cpus =
  let rec doubled n = if n >= cpus then [ cpus ] else n :: doubled (2 * n) in
  let within = if cpus <= 8 then List.init cpus succ else doubled 1 in
  List.sort_uniq Int.compare (within @ [ ((3 * cpus) + 1) / 2; 2 * cpus ])

(* {2 What is said} *)

let workers n = Printf.sprintf "%d worker%s" n (if n = 1 then "" else "s")
let cell = Option.fold ~none:"-" ~some:(Printf.sprintf "%.2f")
let time seconds = Clock.show (1e9 *. seconds)

let table ~cpus (trials : Trials.t) ~title =
  let with_sequential = List.exists (fun (row : Trials.row) -> row.who = Sequential) trials.rows in
  let who : Trials.who -> string = function
    | Sequential -> "sequential"
    | Workers n when float_of_int n > Float.ceil cpus -> workers n ^ " *"
    | Workers n -> workers n
  in
  let row (row : Trials.row) =
    let vs_one = match row.who with Sequential -> "" | Workers _ -> cell row.vs_one in
    let serial = if with_sequential then [ cell row.vs_sequential ] else [] in
    (who row.who :: time row.seconds :: serial) @ [ vs_one; Printf.sprintf "%.2f" row.cpus_used ]
  in
  let serial = if with_sequential then [ "vs serial" ] else [] in
  let header = ("" :: "time" :: serial) @ [ "vs self"; "CPUs used" ] in
  Table.to_text { title; header; rows = List.map row trials.rows }

let notes ~cpus (trials : Trials.t) =
  let is_above : Trials.row -> bool = function
    | { who = Workers n; _ } -> float_of_int n > Float.ceil cpus
    | _ -> false
  in
  let sequential (row : Trials.row) = row.who = Sequential in
  List.filter_map
    (fun (condition, text) -> if condition then Some ("  " ^ text ^ "\n") else None)
    [
      (List.exists is_above trials.rows, "*: more workers than CPUs");
      (true, "vs self: times faster than on 1 worker; CPUs used: CPU time divided by time");
      ( not (List.exists sequential trials.rows),
        "--serial './other args' adds the sequential program, and how many times faster than that"
      );
    ]
  |> String.concat ""

let percent x = Printf.sprintf "%.3g %%" (100. *. x)

(* A law that has as many numbers as there are times meets them all. *)
let fit_error (law : Laws.law) =
  if law.error < 1e-9 then "It fits all times."
  else Printf.sprintf "It is off by %s (root mean square)." (percent law.error)

let amdahl = function
  | None -> "Amdahl's law: it needs the times on 1 and on 2 CPUs."
  | Some (law : Laws.law) ->
    let meaning =
      if law.sigma >= 1. then "no part of the time is shared: more CPUs gain nothing"
      else if law.sigma = 0. then "no part of the time is serial: no limit is seen"
      else
        Printf.sprintf "%s of the time is serial: at most %.3g times faster, whatever the CPUs"
          (percent law.sigma) (1. /. law.sigma)
    in
    Printf.sprintf "Amdahl's law: %s. %s" meaning (fit_error law)

let universal = function
  | None -> "Universal scalability law: it needs three numbers of workers, and two CPUs."
  | Some (law : Laws.law) ->
    let contention = if law.sigma > 1. then "above 100 %" else percent law.sigma in
    Printf.sprintf
      "Universal scalability law: contention %s, crosstalk %s for each further worker. %s"
      contention (percent law.kappa) (fit_error law)

(* Of rows with the same time, the first. *)
let fastest rows =
  let faster best (n, s) = match best with Some (_, t) when t >= s -> best | _ -> Some (n, s) in
  List.fold_left faster None rows

let best ~cpus measured law =
  let found (n, s) =
    if n = 1 then "measured 1 worker"
    else Printf.sprintf "measured %s (%.2f times faster than 1)" (workers n) s
  in
  let foretold law =
    let peak = Laws.peak law in
    let beyond =
      if peak = infinity then "the more the better"
      else workers (Int.max 1 (int_of_float (Float.round peak)))
    in
    [
      "predicted " ^ workers (Laws.best ~cpus law);
      "on a machine with a CPU for each worker: " ^ beyond;
    ]
  in
  let parts =
    List.map found (Option.to_list (fastest measured))
    @ List.concat_map foretold (Option.to_list law)
  in
  Printf.sprintf "Best count: %s." (String.concat "; " parts)

(* {2 The command} *)

type plan = {
  serial : string option;
  rounds : int;
  counts : int list option;
  svg : string option;
  program : string list;
}

let speed_ups (trials : Trials.t) =
  let point (row : Trials.row) =
    match row with { who = Workers n; vs_one = Some s; _ } -> Some (n, s) | _ -> None
  in
  List.filter_map point trials.rows

let curve name sign cls law = { Plot.name; sign; cls; speed_up = Laws.speed_up law }

(* Relative times: ratios of the same rounds are steadier than times. *)
let foretell ~cpus measured =
  let times = List.map (fun (n, s) -> (n, 1. /. s)) measured in
  (Laws.amdahl ~cpus times, Laws.universal ~cpus times)

let conclude plan ~cpus trials =
  let measured = speed_ups trials in
  let law_1, law_2 = foretell ~cpus measured in
  let curves =
    Option.to_list (Option.map (curve "Amdahl's law" 'a' "other") law_1)
    @ Option.to_list (Option.map (curve "universal law" 'u' "third") law_2)
  in
  let plot = { Plot.cpus; measured; curves } in
  List.iter print_endline [ amdahl law_1; universal law_2 ];
  if measured <> [] then print_endline (best ~cpus measured law_2 ^ "\n");
  if List.length measured > 1 then begin
    print_string (Plot.to_text plot);
    let title = String.concat " " plan.program in
    Option.iter (fun file -> Options.write file (Plot.to_svg ~title plot)) plan.svg
  end

let complain text = Printf.eprintf "muster scale: %s\n%!" text

let say text =
  if Unix.isatty Unix.stderr then
    if text = "" then prerr_string "\r\027[K" else Printf.eprintf "\r\027[K%s%!" text

(* It fails before the runs and not after them. *)
let can_write file = Option.iter (fun why -> raise (Sys_error why)) (Options.obstacle file)

(* A program may choose the size of a pool itself. *)
let objection plan ~counts pools =
  let program = List.hd plan.program and asked = List.fold_left Int.max 1 counts in
  match List.fold_left Int.max 0 pools with
  | 0 -> Some (program ^ " has not used a pool of Muster (a run has no input): the number of workers changes nothing for it")
  | size when size <> asked ->
    Some
      (Printf.sprintf
         "%s had a pool of %s where MUSTER_DOMAINS asked for %d: it chooses the size itself, so all \
          times may be those of that size"
         program (workers size) asked)
  | _ -> None
[@@ocamlformat "disable"]

let report plan ~cpus (trials : Trials.t) =
  let program = String.concat " " plan.program in
  let title =
    Printf.sprintf "%s on %g CPU%s: medians of %s" program cpus
      (if cpus = 1. then "" else "s")
      (if trials.failure <> None then "the rounds until then"
       else Printf.sprintf "%d round%s" plan.rounds (if plan.rounds = 1 then "" else "s"))
  in
  if trials.rows <> [] then begin
    print_endline (table ~cpus trials ~title);
    print_string (notes ~cpus trials);
    print_newline ();
    if trials.pools <> [] then conclude plan ~cpus trials
  end;
  flush stdout;
  match trials.failure with
  | None -> Cmd.Exit.ok
  | Some (code, why) ->
    complain why;
    code

let measure plan ~cpus ~counts =
  Child.catch_signals ();
  let trials = Trials.run ?sequential:plan.serial ~say ~rounds:plan.rounds ~counts plan.program in
  say "";
  if trials.rows <> [] then Option.iter complain (objection plan ~counts trials.pools);
  report plan ~cpus trials

let scale plan =
  Option.iter can_write plan.svg;
  let machine = Cpu.report () in
  let cpus = cpus_of machine and limit = machine.runtime_limit in
  let counts =
    match plan.counts with
    | Some counts -> List.sort_uniq Int.compare (1 :: counts)
    | None ->
      List.filter (( >= ) limit) (default_counts (Int.max 1 (int_of_float (Float.ceil cpus))))
  in
  if List.exists (fun n -> n > limit) counts then begin
    complain (Printf.sprintf "OCaml allows %d domains, unless OCAMLRUNPARAM=d=N is set" limit);
    Cmd.Exit.cli_error
  end
  else measure plan ~cpus ~counts

let man =
  [
    `S Manpage.s_description;
    `P
      "$(iname) runs a program that uses Muster with 1, 2, … workers, and with more workers than \
       CPUs, in turn (it sets MUSTER_DOMAINS). It prints the times, the speed-ups over one worker \
       and over a sequential program, and the CPUs used.";
    `P
      "Then it fits Amdahl's law and the universal scalability law to the times, by least squares \
       of the relative errors. From these it predicts the number of workers with the shortest time, \
       on this machine and on one with a CPU for each worker.";
    `P
      "The first run does not count: it finds out whether the program uses Muster. Runs have no \
       input, and their output is dropped. If a run fails, the last lines of its stderr are shown. \
       Ctrl-C ends the runs, and shows the results so far.";
    `S Manpage.s_exit_status;
    `P
      "0; the status of the first run that failed (128 and the number of a signal); 127 where \
       there is no such program, and 126 where it cannot be started.";
    `S Manpage.s_examples;
    `Pre
      "  $(iname) -- ./primes 2000000\n  $(iname) --serial './primes_seq' --svg f.svg -- ./primes";
  ]

let plan =
  let serial =
    let doc = "Compare with the sequential program that the shell runs by $(docv)." in
    Arg.(value & opt (some string) None & info [ "serial" ] ~docv:"LINE" ~doc)
  in
  let rounds =
    let doc = "Take $(docv) rounds, each with every number of workers." in
    Arg.(value & opt Options.positive 3 & info [ "rounds" ] ~docv:"R" ~doc)
  in
  let counts =
    let doc = "The numbers of workers, as 1,2,8 (1 is always among them)." in
    Arg.(value & opt (some (list Options.positive)) None & info [ "workers" ] ~docv:"LIST" ~doc)
  in
  let svg = Options.file "svg" "Draw the speed-ups and the laws into $(docv)." in
  let program =
    let doc = "The program, and its arguments." in
    Arg.(non_empty & pos_all string [] & info [] ~docv:"PROGRAM" ~doc)
  in
  let plan serial rounds counts svg program = { serial; rounds; counts; svg; program } in
  Term.(const plan $ serial $ rounds $ counts $ svg $ program)

let command =
  let doc = "measure a program on 1, 2, … workers, and predict its best number" in
  Cmd.v (Cmd.info "scale" ~doc ~man) Term.(const scale $ plan)
