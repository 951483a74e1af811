type options = { repeat : int; quick : bool; program : string -> bool; before : string option }

let watched = Unix.isatty Unix.stderr
let clear_line = "\r\027[K"

let say ~situation ~program ~contender ~round ~repeat =
  if watched then
    Printf.eprintf "%snever: %s, %s, round %d of %d: %s%!" clear_line situation program (round + 1)
      repeat contender

let say_nothing () = if watched then Printf.eprintf "%s%!" clear_line

(* Contenders have names; each is one child process a round. *)
let in_turn options ~situation ~program contenders =
  let repeat = options.repeat in
  let run ~round (contender, measure) =
    say ~situation ~program ~contender ~round ~repeat;
    measure ()
  in
  let samples = Measure.in_turn ~repeat run contenders in
  List.map (fun ((contender, _), sample) -> (contender, sample)) samples

let time figures = List.hd (List.assoc "time" figures)

(* The answers of all runs in this session, by program. *)
let answers = Hashtbl.create 4

let check_answer job figures =
  let answer = List.assoc "answer" figures and program = Job.name job in
  match Hashtbl.find_opt answers program with
  | None -> Hashtbl.add answers program answer
  | Some expected when expected = answer -> ()
  | Some _ -> failwith (program ^ ": another answer than before")

let run_job ?confine ~seconds job how =
  let arguments = [ "job"; Job.name job; Job.label how; string_of_float seconds ] in
  let figures = Child.run ?confine Child.this arguments in
  check_answer job figures;
  time figures

let jobs_in_turn options ~situation ?confine ?(seconds = 0.) job hows =
  let contender how = (Job.label how, fun () -> run_job ?confine ~seconds job how) in
  let program = Job.name job in
  let samples = in_turn options ~situation ~program (List.map contender hows) in
  fun how -> List.assoc (Job.label how) samples

(* A failure is a row, and the other rows are measured all the same. *)
let attempt ~situation ?(detail = "") ~program rows =
  let failure reason =
    let got = Row.Failed reason and limit = Row.At_most nan in
    [ { Row.situation; detail; program; got; limit } ]
  in
  try rows () with
  | Failure reason -> failure reason
  | Unix.Unix_error (error, call, _) -> failure (call ^ ": " ^ Unix.error_message error)

let for_each_job options ~situation rows =
  let wanted = List.filter (fun job -> options.program (Job.name job)) Job.all in
  let rows job = attempt ~situation ~program:(Job.name job) (fun () -> rows job) in
  List.concat_map rows wanted

let skipped ~situation why =
  let got = Row.Skipped why and limit = Row.At_most nan in
  [ { Row.situation; detail = ""; program = ""; got; limit } ]

(* The figures of several children that measure the same. *)
let pooled options ~situation ~program arguments =
  let child round =
    let contender = String.concat " " arguments and repeat = options.repeat in
    say ~situation ~program ~contender ~round ~repeat;
    Child.run Child.this arguments
  in
  let children = List.init options.repeat child in
  fun figure -> Measure.of_runs (List.concat_map (List.assoc figure) children)
