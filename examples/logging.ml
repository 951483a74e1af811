(* Tasks, systhreads and the fibers of an event loop write log lines by the library logs. A mutex
   around the reporter keeps lines whole, and a tag on each line says which job wrote it. A stdlib
   mutex is enough, since it blocks a worker or an event loop only while one line is written. But no
   message may wait for anything, so each value is computed before it is logged. *)

let tag = Logs.Tag.def "job" ~doc:"The job that logs." Format.pp_print_int
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
        Option.iter (Format.fprintf ppf "job %d: ") (Logs.Tag.find tag tags);
        Format.kfprintf finish ppf (format ^^ "@."))
  in
  { Logs.report }

(* What [run] logs, in order of jobs. *)
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
  let tags = Logs.Tag.(add tag i empty) in
  Log.info (fun m -> m ~tags "begins");
  let steps = longest (1 + (i * 1_000)) 1_000 in
  Log.info (fun m -> m ~tags "has found %d steps" steps)

let sequential n () =
  for i = 0 to n - 1 do
    job i
  done

let in_tasks first last () = Muster.parallel_for ~start:first ~finish:last job

(* Four at a time, outside of the pool. *)
let in_threads first last () =
  let jobs_of_thread t =
    for i = first to last do
      if i mod 4 = t then job i
    done
  in
  Muster.Task.blocking (fun () ->
      List.iter Thread.join (List.init 4 (fun t -> Thread.create jobs_of_thread t)))

(* Each in a fiber of Eio, where that is installed (fibers.eio.ml); else in a plain loop. *)
let in_fibers first last () = Muster.Task.blocking (fun () -> Fibers.each first last job)

let parallel n () =
  let mutex = Mutex.create () in
  let lock () = Mutex.lock mutex and unlock () = Mutex.unlock mutex in
  Logs.set_reporter_mutex ~lock ~unlock;
  let third = n / 3 in
  ignore
    (Muster.Task.all
       [
         in_tasks 0 (third - 1);
         in_threads third ((2 * third) - 1);
         in_fibers (2 * third) (n - 1);
       ])

let show lines = Printf.sprintf "%d lines" (List.length lines - 1)

let rows n =
  [
    Example.row "whole lines"
      ~shows:
        "Tasks, threads and fibers share one reporter behind a mutex: no line is torn, and they run \
         in parallel."
      ~show
      ~sequential:(fun () -> lines_of (sequential n))
      ~parallel:(fun _ -> lines_of (parallel n));
  ]

let example =
  let size = Example.size ~default:2_000 "Run $(docv) jobs, which log two lines each." in
  Example.command ~name:"logging" ~doc:"tasks, threads and fibers that write to one log, line by line" ~size
    (Cmdliner.Term.const rows)
