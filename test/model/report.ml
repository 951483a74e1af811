(* Checks all models of some suites, each in a process of its own: what one leaves behind, such as
   the stacks of parties that never go on, is gone with it. Two of them at a time where there are two
   CPUs. A line tells of each model that took a tenth of a second, as it ends; a table at the end, of
   all suites. The exit status is 1 if a model failed, or has more orders than it may. *)

type answer = { count : Model.count; seconds : float; megabytes : int }
type job = { suite : string; model : Model.t }
type result = { job : job; answer : answer option  (** none: it failed *) }

(* {2 One model, in a process of its own} *)

(* The most memory that this process ever had; 0 where the system does not tell. *)
let peak () =
  let line_of input =
    let rec next () =
      let line = input_line input in
      if String.starts_with ~prefix:"VmHWM:" line then
        Scanf.sscanf line "VmHWM: %d" (fun kb -> kb / 1024)
      else next ()
    in
    next ()
  in
  try In_channel.with_open_text "/proc/self/status" line_of with Sys_error _ | End_of_file -> 0

let answer_of model =
  let begun = Sys.time () in
  match Model.check model with
  | count -> Some { count; seconds = Sys.time () -. begun; megabytes = peak () }
  | exception Model.Violation _ -> None

type child = { pid : int; answers : in_channel; of_job : job }

let start job =
  let input, output = Unix.pipe ~cloexec:true () in
  match Unix.fork () with
  | 0 ->
    let channel = Unix.out_channel_of_descr output in
    Marshal.to_channel channel (answer_of job.model) [];
    close_out channel;
    Unix._exit 0
  | pid ->
    Unix.close output;
    { pid; answers = Unix.in_channel_of_descr input; of_job = job }

(* One that was killed, for memory say, has said nothing. *)
let result_of child =
  let answer =
    try (Marshal.from_channel child.answers : answer option) with End_of_file -> None
  in
  close_in child.answers;
  { job = child.of_job; answer }

(* {2 Many} *)

let rec some_ended children =
  match Unix.wait () with
  | pid, _ -> List.partition (fun child -> child.pid = pid) children
  | exception Unix.Unix_error (EINTR, _, _) -> some_ended children

let rec run_all ~tell ~at_once children jobs results =
  match jobs with
  | job :: rest when List.length children < at_once ->
    run_all ~tell ~at_once (start job :: children) rest results
  | _ when children = [] -> results
  | _ ->
    let ended, children = some_ended children in
    let news = List.map result_of ended in
    List.iter tell news;
    run_all ~tell ~at_once children jobs (news @ results)

(* {2 What is printed} *)

let spell = function
  | Model.Exhausted -> "exhausted"
  | Bounded -> "bounded, there are more"
  | Cut -> "CUT: too many orders"

let tell { job; answer } =
  match answer with
  | None -> Printf.printf "%s: FAILED\n%!" job.model.name
  | Some { count; seconds; megabytes } ->
    if seconds >= 0.1 || count.ending <> Exhausted then
      Printf.printf "%9d orders %6.1f s %5d MB  %s: %s\n%!" count.orders seconds megabytes
        job.model.name (spell count.ending)

let sum f answers = List.fold_left (fun sum a -> sum + f a) 0 answers
let seconds_of answers = List.fold_left (fun sum a -> sum +. a.seconds) 0. answers

let totals name results =
  let answers = List.filter_map (fun r -> r.answer) results in
  let ended how = sum (fun a -> Bool.to_int (a.count.ending = how)) answers in
  Printf.printf "%-24s %5d models, %d bounded, %d cut, %d failed; %9d orders %7.1f s\n%!" name
    (List.length results) (ended Bounded) (ended Cut)
    (List.length results - List.length answers)
    (sum (fun a -> a.count.orders) answers)
    (seconds_of answers)

let is_exhausted r = match r.answer with Some a -> a.count.ending = Exhausted | None -> false
let is_well r = match r.answer with Some a -> a.count.ending <> Cut | None -> false
let of_suite results (suite, _) = List.filter (fun r -> r.job.suite = suite) results

(* Where the heap may only be twice what lives, a sixth of the time goes into collecting it. *)
let collect_seldom () = Gc.set { (Gc.get ()) with space_overhead = 1000 }

let check suites =
  let begun = Unix.gettimeofday () in
  collect_seldom ();
  let jobs_of (suite, models) = List.map (fun model -> { suite; model }) models in
  let jobs = List.concat_map jobs_of suites in
  let at_once = Domain.recommended_domain_count () in
  let results = run_all ~tell ~at_once [] jobs [] in
  print_newline ();
  List.iter (fun suite -> totals (fst suite) (of_suite results suite)) suites;
  totals "all" results;
  let answers = List.filter_map (fun r -> r.answer) results in
  Printf.printf "%.0f s of wall time, %d at a time, at most %d MB in one\n"
    (Unix.gettimeofday () -. begun)
    at_once
    (List.fold_left (fun most a -> max most a.megabytes) 0 answers);
  results

let run suites = if not (List.for_all is_well (check suites)) then exit 1

(* As one test for each suite, in the words that tools/test counts. *)
let run_as_tests suites =
  let results = check suites in
  let is_passed suite = List.for_all is_exhausted (of_suite results suite) in
  let passed, failed = List.partition is_passed suites in
  Printf.printf "%d passed, %d failed\n" (List.length passed) (List.length failed);
  if failed <> [] then exit 1
