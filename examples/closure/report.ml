let megabytes kib = float_of_int kib *. 1024. /. 1e6

let heaviest (answer : Answer.t) top =
  let line p =
    Printf.printf "  %10.1f MB %7d packages  %s\n"
      (megabytes answer.weight.size.(p))
      answer.weight.count.(p)
      (Name.to_string answer.packages.(p).name)
  in
  Printf.printf "\nThe %d that pull in most, themselves included:\n" top;
  List.iter line (Answer.heaviest answer top)

(* The class of closures of 1, of 2-3, of 4-7, … packages. *)
let rec size_class n = if n <= 1 then 0 else 1 + size_class (n / 2)

let classes counts =
  let classes = Array.make (1 + size_class (Array.fold_left max 1 counts)) 0 in
  Array.iter (fun n -> classes.(size_class n) <- classes.(size_class n) + 1) counts;
  classes

let bar_width = 40

let histogram (answer : Answer.t) =
  let classes = classes answer.weight.count in
  let largest = Array.fold_left max 1 classes in
  let line c n =
    let low = 1 lsl c in
    let range = if c = 0 then "1" else Printf.sprintf "%d-%d" low ((2 * low) - 1) in
    (* Rounded up: what is there shows. *)
    let bar = String.make (((n * bar_width) + largest - 1) / largest) '#' in
    Printf.printf "  %11s %7d  %s\n" range n bar
  in
  print_string "\nHow many packages pull in how many, themselves included:\n";
  Array.iteri line classes

let median values =
  let sorted = Array.copy values in
  Array.sort Int.compare sorted;
  sorted.(Array.length sorted / 2)

let summary (answer : Answer.t) =
  let packages = Array.length answer.packages in
  Printf.printf "%d stanzas, %d packages, %d dependencies (%d more cannot be met)\n" answer.stanzas
    packages (Answer.edges answer) (Answer.unmet answer);
  if packages > 0 then
    let sum = Array.fold_left ( + ) 0 answer.weight.count in
    Printf.printf "A package pulls in %.1f in the mean, %d in the median\n"
      (float_of_int sum /. float_of_int packages)
      (median answer.weight.count)

let weights (answer : Answer.t) ~top =
  summary answer;
  if Array.length answer.packages > 0 then begin
    heaviest answer (min top (Array.length answer.packages));
    histogram answer
  end

let run_name (run : Runs.run) =
  match run.domains with
  | None -> "sequential"
  | Some 1 -> "1 domain"
  | Some n -> Printf.sprintf "%d domains" n

let row name cells last =
  Printf.printf "  %-12s" name;
  List.iter (Printf.printf " %9s") cells;
  List.iter (Printf.printf " %10s") last;
  print_newline ()

(* A phase that took no measurable time has no speed-up. *)
let ratio a b = if b > 0. then Printf.sprintf "%.2f" (a /. b) else "-"
let seconds = Printf.sprintf "%.3f s"
let phase_names (run : Runs.run) = List.map fst run.times
let phase_seconds (run : Runs.run) = List.map snd run.times @ [ Runs.total run ]

(* [vs self] compares with the parallel program on one domain. *)
let totals serial self run =
  let total = Runs.total run in
  let against other = ratio (Runs.total other) total in
  [ against serial; (match run.domains with None -> "" | Some _ -> against self) ]

let speed_ups serial (run : Runs.run) = List.map2 ratio (phase_seconds serial) (phase_seconds run)

let times runs =
  match runs with
  | serial :: (self :: _ as parallel) ->
    let columns = phase_names serial @ [ "total" ] in
    print_string "\nTime by phase, the shortest of the repeats:\n";
    row "" columns [ "vs serial"; "vs self" ];
    let time run =
      row (run_name run) (List.map seconds (phase_seconds run)) (totals serial self run)
    in
    List.iter time runs;
    print_string "\nSpeed-up by phase, vs serial:\n";
    row "" columns [];
    List.iter (fun run -> row (run_name run) (speed_ups serial run) []) parallel
  | _ -> ()
