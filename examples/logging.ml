(* Log lines from tasks, through the library logs: a mutex around the reporter keeps lines
   whole, and a tag on each says which task wrote it. Stdlib's mutex will do: it holds up a
   worker for the time of one line, as long as no message waits for a task. So each value
   is there before it is logged. *)

let task = Logs.Tag.def "task" ~doc:"The task that logs." Format.pp_print_int
let source = Logs.Src.create "muster.example" ~doc:"The example of logging."

module Log = (val Logs.src_log source)

(* It writes each line in parts: without the mutex they would mix. *)
let reporter buffer =
  let ppf = Format.formatter_of_buffer buffer in
  let report _source level ~over k write =
    let finish _ =
      over ();
      k ()
    in
    write (fun ?header:_ ?(tags = Logs.Tag.empty) format ->
        Format.fprintf ppf "[%a] " Logs.pp_level level;
        Option.iter (Format.fprintf ppf "task %d: ") (Logs.Tag.find task tags);
        Format.kfprintf finish ppf (format ^^ "@."))
  in
  { Logs.report }

(* What [run] logs, in order of tasks. *)
let lines_of run =
  let buffer = Buffer.create 65_536 in
  Logs.set_reporter (reporter buffer);
  Logs.Src.set_level source (Some Logs.Info);
  run ();
  Logs.set_reporter Logs.nop_reporter;
  List.sort compare (String.split_on_char '\n' (Buffer.contents buffer))

let rec collatz steps n =
  if n = 1 then steps else collatz (steps + 1) (if n mod 2 = 0 then n / 2 else (3 * n) + 1)

let longest first count =
  let rec from best n = if n = first + count then best else from (max best (collatz 0 n)) (n + 1) in
  from 0 first

let job i =
  let tags = Logs.Tag.(add task i empty) in
  Log.info (fun m -> m ~tags "begins");
  let steps = longest (1 + (i * 1_000)) 1_000 in
  Log.info (fun m -> m ~tags "has found %d steps" steps)

let sequential n () =
  for i = 0 to n - 1 do
    job i
  done

let parallel n () =
  let mutex = Mutex.create () in
  let lock () = Mutex.lock mutex and unlock () = Mutex.unlock mutex in
  Logs.set_reporter_mutex ~lock ~unlock;
  Muster.parallel_for ~start:0 ~finish:(n - 1) job

let show lines = Printf.sprintf "%d lines" (List.length lines - 1)

let rows n =
  [
    Example.row "whole lines"
      ~shows:
        "Tasks share one reporter behind a mutex: no line is torn, and the work runs in parallel."
      ~show
      ~sequential:(fun () -> lines_of (sequential n))
      ~parallel:(fun _ -> lines_of (parallel n));
  ]

let example =
  let size = Example.size ~default:2_000 "Run $(docv) tasks, which log two lines each." in
  Example.command ~name:"logging" ~doc:"tasks that write to one log, line by line" ~size
    (Cmdliner.Term.const rows)
