open Cmdliner

(* Where it cannot be said, the files and the status remain. *)
let say text = try prerr_endline text with Sys_error _ -> close_out_noerr stderr
let complain text = say ("muster: " ^ text)

(* {2 What a task costs here} *)

let calibrate () =
  let rounds = 20_000 in
  Muster.Pool.with_ ~domains:1 @@ fun pool ->
  Muster.Pool.run pool @@ fun () ->
  let since = Unix.gettimeofday () and words = Gc.minor_words () in
  for _ = 1 to rounds do
    Muster.Task.await (Muster.Task.async (fun () -> ignore (Sys.opaque_identity 0)))
  done;
  let each total = total /. float rounds in
  (each (Unix.gettimeofday () -. since), each (8. *. (Gc.minor_words () -. words)))

let run_of (run : Watch.run) ~alone =
  let { Watch.measures = m; cpu; kernel; room; throttled; lost; _ } = run in
  let own { Watch.measures; cpu; _ } = Rules.own_time measures ~cpu in
  let pace = match (run.pace, Option.bind alone (fun (it : Watch.run) -> it.pace)) with
    | Some beside_others, Some by_itself -> beside_others /. by_itself
    | _ -> 1.
  in
  let alone = Option.map own alone in
  let task_cost, task_bytes = calibrate () in
  (* A thread that a quota stops waits for a CPU, too. *)
  let m = { m with queue = Float.max 0. (m.queue -. throttled) } in
  { Rules.m; cpu; kernel; cpus = room.cpus; affinity = float room.affinity; throttled; lost = lost > 0;
    alone; pace; task_cost; task_bytes }
[@@ocamlformat "disable"]

(* {2 The text} *)

let no_verdict (run : Watch.run) =
  match run.seen with
  | Muster -> None
  | (Nothing | Rings) when run.outcome = Still_running || run.outcome = Ended ->
    Some
      "no verdict: no worker of Muster's has begun to trace. Does this process use Muster? A worker \
       does not look for the request within a task that calls nothing of Muster, nor while the pool \
       has no work."
  | Nothing ->
    Some
      "no verdict: the program wrote no events. It is no program of OCaml 5, or another program \
       started it without this environment."
  | Rings ->
    Some
      "no verdict: this is a program of OCaml 5, but no worker of Muster's wrote an event. Does this \
       process use Muster (or muster.domainslib)? Did it get as far as its first call, and was there \
       anything to share? A loop of one iteration starts no worker."

let ended (run : Watch.run) =
  match run.outcome with
  | Exited 0 | Still_running -> []
  | Ended -> [ "The program has ended: the figures are of the time until then." ]
  | Exited n -> [ Printf.sprintf "The program ended with status %d." n ]
  | Signalled n when n = Muster_scale.Child.number Sys.sigint -> [ "The program was interrupted: the figures are of the time until then." ]
  | Signalled n ->
    [ Printf.sprintf "The program was killed by signal %d: the figures are of the time until then." n ]
[@@ocamlformat "disable"]

let text (run : Watch.run) ~alone =
  match no_verdict run with
  | Some reason -> (reason :: ended run, [])
  | None ->
    let it = run_of run ~alone in
    let lost = Printf.sprintf "Lost events: %s." (Recording.lost_events run.lost) in
    let cause { Rules.cause; gain; _ } = (cause, gain) in
    (Verdict.lines it @ (lost :: ended run), List.map cause (Rules.findings it))
[@@ocamlformat "disable"]

(* {2 Files} *)

let measures (m : Measures.t) =
  [
    ("wall", m.wall); ("workers", float m.workers); ("working", m.working); ("minor", m.minor);
    ("major", m.major); ("stop", m.stop); ("held", m.held); ("looking", m.looking); ("parked", m.parked); ("outside", m.outside);
    ("unknown", m.unknown); ("tasks", float m.tasks); ("forks", float m.forks);
    ("steals", float m.steals); ("work", m.work); ("span", m.span); ("minors", float m.minors);
    ("promoted", float m.promoted); ("allocated", float m.allocated); ("queue", m.queue); ("spun", m.spun);
    ("blocked", m.blocked); ("beside", m.beside);
  ]
  @ List.map (fun (it, s) -> ("missing for " ^ it, s)) m.missing
[@@ocamlformat "disable"]

let write recording (file, put) =
  (* What the one before has used is free again. *)
  Gc.compact ();
  match Out_channel.with_open_bin file (fun oc -> put oc recording; flush oc) with
  | () -> true
  | exception Sys_error reason ->
    complain (Printf.sprintf "cannot write %s: %s" file reason);
    false

let status_of : Recording.outcome -> int = function
  | Exited n -> n
  | Signalled n -> 128 + n
  | Ended | Still_running -> 0
[@@ocamlformat "disable"]

let tell run ~alone ~files =
  let verdict, causes = text run ~alone in
  Sys.set_signal Sys.sigpipe Signal_ignore;
  List.iter say verdict;
  let written =
    files = []
    ||
    let recording = Lazy.force run.Watch.recording in
    let recording = { recording with verdict; causes; measures = measures run.measures } in
    List.for_all Fun.id (List.map (write recording) files)
  in
  match status_of run.outcome with 0 when not written -> 1 | status -> status

(* {2 The command} *)

let refuse { Session.status; why } =
  complain why;
  status

(* To be found before a long run, not after it. *)
let obstacle files =
  let one (file, _) = Option.map (( ^ ) "cannot write ") (Muster_bench.Options.obstacle file) in
  match List.filter_map one files with [] -> None | all -> Some (String.concat "; " all)

(* Of a second run that did less than the first nothing can be said. *)
let second program (first : Watch.run) ~span ~input =
  if (not span) || first.interrupted then None
  else if input = Session.Stream && not (Session.is_idle ()) then begin
    complain "a second run cannot read a pipe again: no verdict on memory (give a file as input, or </dev/null)";
    None
  end
  else
    match Session.run ~alone:input program with
    | Ok it when it.seen = Muster && it.outcome = first.outcome && not it.interrupted -> Some it
    | Ok _ | Error _ ->
      complain "the second run, on one domain, did not end as the first one did: no verdict on memory";
      None
[@@ocamlformat "disable"]

let why files span pid seconds program =
  let timeline = files <> [] in
  let obstacle = obstacle files in
  match (pid, program) with
  | _ when Option.is_some obstacle -> `Ok (refuse { status = 1; why = Option.get obstacle })
  | None, _ when seconds <> None -> `Error (true, "--for goes with --pid")
  | Some _, _ when span -> `Error (true, "--span runs a program twice: it does not go with --pid")
  | _ when Option.fold seconds ~none:false ~some:(fun s -> not (s > 0.)) ->
    `Error (true, "--for: a number of seconds above 0")
  | Some pid, [] -> (
    match Session.attach ~timeline ~pid seconds with
    | Ok run -> `Ok (tell run ~alone:None ~files)
    | Error refusal -> `Ok (refuse refusal))
  | None, _ :: _ -> (
    let input = Session.input () in
    match Session.run ~span ~timeline program with
    | Error refusal -> `Ok (refuse refusal)
    | Ok run -> `Ok (tell run ~alone:(second program run ~span ~input) ~files))
  | None, [] -> `Error (true, "no program: muster why -- ./prog args...")
  | Some _, _ :: _ -> `Error (true, "either --pid or a program")
[@@ocamlformat "disable"]

let man =
  [
    `S Manpage.s_description;
    `P
      "$(iname) runs a program, and prints a verdict at its end: the main cause of lost time, the \
       quantity that shows it, one thing to try, and how sure that is. It watches the program's \
       workers, its collector, and the state of its threads. The program must use Muster or \
       muster.domainslib, and needs no change. It reads and writes the terminal as usual; the \
       verdict is printed on stderr. The exit status is that of the program, or 128 plus the number \
       of the signal that killed it.";
    `P
      "The program is traced through rings of OCaml's runtime. They are files of 4 MiB for each \
       domain, in a folder of TMPDIR that is removed afterwards. The command takes up to 300 MB of \
       memory, and up to 500 MB while it writes a report.";
    `P
      "doc/why.md explains the causes, and how each is measured.";
    `S Manpage.s_examples;
    `Pre "  $(iname) --html report.html -- ./prog --size 1000\n  $(iname) --span -- ./prog\n  $(iname) --pid 4711 --for 5";
  ]
[@@ocamlformat "disable"]

let files =
  let file option ~doc put =
    let one = Option.fold ~none:[] ~some:(fun file -> [ (file, put) ]) in
    Term.(const one $ Arg.(value & opt (some string) None & info [ option ] ~docv:"FILE" ~doc))
  in
  let all =
    [
      file "html" Report.html
        ~doc:"Write a report: one page for a browser, with a timeline, tables and the verdict. It has \
              8 MB at most. If there are more than 150,000 spans, the shortest are summed up.";
      file "perfetto" Report.perfetto
        ~doc:"Write all spans for ui.perfetto.dev, in Chrome's trace format.";
      file "json" Recording.to_channel ~doc:"Write the whole recording, for other programs.";
    ]
  in
  List.fold_left (fun files it -> Term.(const ( @ ) $ files $ it)) (Term.const []) all
[@@ocamlformat "disable"]

let command =
  let span =
    Arg.(value & flag & info [ "span" ]
      ~doc:"Run the program once more, on one domain and without its output, to see whether its \
            work takes longer on several domains (memory, false sharing). A file that is the input \
            is read again; a pipe cannot be.")
  and pid =
    Arg.(value & opt (some int) None & info [ "pid" ] ~docv:"PID" ~doc:"Watch a running program, until it ends or Ctrl-C.")
  and seconds =
    Arg.(value & opt (some float) None & info [ "for" ] ~docv:"SECONDS" ~doc:"With $(b,--pid): watch for $(docv).")
  and program = Arg.(value & pos_all string [] & info [] ~docv:"PROGRAM") in
  let doc = "say why a program does not use all CPUs, and what to try" in
  Cmd.v (Cmd.info "why" ~doc ~man) Term.(ret (const why $ files $ span $ pid $ seconds $ program))
[@@ocamlformat "disable"]
