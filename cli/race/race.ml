open Cmdliner
module Child = Muster_scale.Child

let complain fmt = Printf.ksprintf (Printf.eprintf "muster race: %s\n%!") fmt

(* {2 Where things are} *)

let exists path = Sys.file_exists path && not (Sys.is_directory path)
let is_path program = String.contains program '/'

let find program =
  if is_path program then if exists program then Some program else None
  else
    let folders = String.split_on_char ':' (Option.value (Sys.getenv_opt "PATH") ~default:"") in
    List.find_opt exists (List.map (fun folder -> Filename.concat folder program) folders)

let rec above folder =
  let parent = Filename.dirname folder in
  if parent = folder then [ folder ] else folder :: above parent

let is_root folder =
  List.exists (fun name -> exists (Filename.concat folder name)) [ "dune-workspace"; "dune-project" ]

(* The outermost, as dune has it. *)
let root_above folder =
  List.fold_left (fun found it -> if is_root it then Some it else found) None (above folder)

let absolute path =
  let path = if Filename.is_relative path then Filename.concat (Sys.getcwd ()) path else path in
  Str.global_replace (Str.regexp "/\\(\\./\\)+") "/" path

(* The root of its sources, and what dune calls the program there. *)
let target program =
  let path = absolute program in
  let in_build = Str.regexp "^\\(.*\\)/_build/[^/]+/\\(.*\\)$" in
  if Str.string_match in_build path 0 then Some (Str.matched_group 1 path, Str.matched_group 2 path)
  else
    let within root =
      let n = String.length root + 1 in
      (root, String.sub path n (String.length path - n))
    in
    Option.map within (root_above (Filename.dirname path))

let roots program =
  let of_program = if is_path program then Option.to_list (Option.map fst (target program)) else [] in
  let here = Sys.getcwd () in
  of_program @ Option.to_list (root_above here) @ [ here ]

(* {2 A run}

   [symbolize=0] would leave addresses in place of places, and [atexit_sleep_ms] is a second that each
   process loses. Equal stacks are reported once. Threads that have not been joined when the program ends, and
   locks in several orders, are no races. Signals end the program as they would without. *)

let options ~before ~logs =
  let ours =
    "symbolize=1 atexit_sleep_ms=0 exitcode=0 halt_on_error=0 report_thread_leaks=0 \
     detect_deadlocks=0 handle_segv=0 handle_sigbus=0 handle_sigfpe=0 die_after_fork=0"
  in
  Printf.sprintf "history_size=7 %s %s log_path='%s'" before ours logs

let unless_set name value = if Sys.getenv_opt name = None then [ (name, value) ] else []

(* All workers are to be there: with one there is no race. *)
let settings ~logs =
  let before = Option.value (Sys.getenv_opt "TSAN_OPTIONS") ~default:"" in
  let cpus = (Muster_core.Cpu.report ()).available in
  [ ("TSAN_OPTIONS", options ~before ~logs); ("MUSTER_RACE", "1") ]
  @ unless_set "MUSTER_GOVERNOR" "off"
  @ unless_set "MUSTER_DOMAINS" (string_of_int (Int.max 2 cpus))

let in_folder folder =
  List.sort compare (List.map (Filename.concat folder) (Array.to_list (Sys.readdir folder)))

let with_scratch f =
  let folder = Filename.temp_dir "muster-race" "" in
  let remove () =
    List.iter Sys.remove (in_folder folder);
    Sys.rmdir folder
  in
  Fun.protect ~finally:remove (fun () -> f folder)

let logs_name = "log"

(* What ThreadSanitizer says besides: it cannot run, or the program was killed within. *)
let read_logs races folder =
  let said = ref false in
  let other line =
    said := true;
    prerr_endline line
  in
  let is_log path = String.starts_with ~prefix:(logs_name ^ ".") (Filename.basename path) in
  let read path =
    In_channel.with_open_bin path (Sanitizer.read ~report:(Races.add races) ~other)
  in
  List.iter read (List.filter is_log (in_folder folder));
  !said

let with_races = 66

let conclude races ~said status =
  prerr_string (Races.to_string races);
  flush stderr;
  let own = Child.code status in
  if own <> 0 then own
  else if Races.found_any races then with_races
  else if said then Cmd.Exit.some_error
  else 0

let run_in scratch ~roots command =
  let logs = Filename.concat scratch logs_name in
  match Child.run_here ~env:(settings ~logs) command with
  | Error (code, why) ->
    complain "%s" why;
    code
  | Ok status ->
    let races = Races.find ~roots in
    let said = read_logs races scratch in
    conclude races ~said status

(* {2 Without ThreadSanitizer} *)

let advise program command =
  let line = String.concat " " command in
  if is_path program then
    complain "%s was not built by an OCaml with ThreadSanitizer, which finds the races." program
  else complain "the OCaml in PATH has no ThreadSanitizer, which finds the races.";
  complain "opam has one: opam switch create tsan ocaml-variants.%s+options ocaml-option-tsan"
    Sys.ocaml_version;
  complain "In a checkout of Muster, make tsan builds one.";
  if Compilers.left () <> None then
    complain "There is one already. To build the program with it and run it: muster race --build -- %s" line;
  Cmd.Exit.some_error

(* C of the project's is to be watched, too (tools/tsan.workspace). *)
let workspace scratch root =
  let file = Filename.concat root "dune-workspace" in
  let text = if exists file then In_channel.with_open_bin file In_channel.input_all else "(lang dune 3.0)\n" in
  let flags =
    "\n(env (_ (c_flags (:standard -fsanitize=thread -Wno-tsan --param=tsan-distinguish-volatile=1))))\n"
  in
  let path = Filename.concat scratch "dune-workspace" in
  let text = if Compilers.contains text "(env" then text else text ^ flags in
  Out_channel.with_open_bin path (fun channel -> output_string channel text; flush channel);
  path

(* Dune makes the last folder of it only. *)
let build_folder root =
  let folder = Filename.concat root "_build" in
  if not (Sys.file_exists folder) then Sys.mkdir folder 0o777;
  Filename.concat folder "race"

(* Dune's default profile inlines nothing across modules: so each call has its own line. *)
let profile = "dev"

let build_and_run scratch folder program arguments =
  match target program with
  | None ->
    complain "%s is in no dune project, and --build needs one." program;
    Cmd.Exit.some_error
  | Some (root, target) -> (
    let output = build_folder root in
    let places = [ "--root"; root; "--build-dir"; output; "--workspace"; workspace scratch root ] in
    let dune = ("dune" :: "build" :: "--profile" :: profile :: places) in
    match Child.run_here ~env:[] (Compilers.with_it ~folder ~scratch (dune @ [ "./" ^ target ])) with
    | Error (code, why) ->
      complain "%s" why;
      code
    | Ok (WEXITED 0) ->
      let program = Filename.concat output (Filename.concat "default" target) in
      run_in scratch ~roots:(root :: roots program) (program :: arguments)
    | Ok status ->
      complain "not built. Libraries that the program needs have to be built by this OCaml, too.";
      Child.code status)

let build program arguments =
  match Compilers.left () with
  | None ->
    complain "make tsan, in a checkout of Muster, has to build an OCaml with ThreadSanitizer before.";
    Cmd.Exit.some_error
  | Some folder ->
    with_scratch @@ fun scratch ->
    if is_path program then build_and_run scratch folder program arguments
    else
      let root = Option.value (root_above (Sys.getcwd ())) ~default:(Sys.getcwd ()) in
      let for_dune =
        [
          "DUNE_BUILD_DIR=" ^ build_folder root;
          "DUNE_WORKSPACE=" ^ workspace scratch root;
          "DUNE_PROFILE=" ^ profile;
        ]
      in
      let command = Compilers.with_it ~folder ~scratch (for_dune @ (program :: arguments)) in
      run_in scratch ~roots:(roots program) command

(* {2 The command} *)

let race builds command =
  let program = List.hd command and arguments = List.tl command in
  Child.catch_signals ();
  let is_sanitized path =
    match Compilers.built path with
    | Sanitized -> true
    | Plain when is_path program -> false
    | Plain | Unknown -> Compilers.is_sanitized ()
  in
  if builds then build program arguments
  else
    match find program with
    | None ->
      complain "%s: no such program" program;
      127
    | Some path when is_sanitized path ->
      with_scratch (fun scratch -> run_in scratch ~roots:(roots program) command)
    | Some _ -> advise program command

let man =
  [
    `S Manpage.s_description;
    `P
      "$(iname) runs a program, or a command that runs programs such as $(b,dune test), and reports its \
       data races. Two tasks have a data race if both use a value, one of them writes it, and nothing \
       orders the two. ThreadSanitizer finds the races of this run, so an OCaml with ThreadSanitizer \
       must have built the program.";
    `P
      "The report is printed on stderr at the end. It shows each pair of places in the program's sources \
       once: the accesses with the lines around them, the tasks, and where these were forked. It counts \
       ThreadSanitizer's reports of each pair. Races with OCaml's collector are left out.";
    `P
      "The command keeps the options that you have set in TSAN_OPTIONS. Pools have two workers or more, \
       and keep them, unless you have set MUSTER_DOMAINS and MUSTER_GOVERNOR.";
    `S Manpage.s_exit_status;
    `P
      "The program's own status, or 128 plus the number of the signal that ended it. 66 if that is 0 and \
       there are races; 123 if the program cannot be watched; 126 or 127 if it cannot be started.";
    `S Manpage.s_examples;
    `Pre "  $(iname) -- ./prog args\n  $(iname) --build -- _build/default/prog.exe args\n  $(iname) -- dune test --force";
  ]

let command =
  let doc = "find the data races of a program" in
  let builds =
    let doc =
      "Build the program with the OCaml of $(b,make tsan), in $(b,_build/race) of its project, and run it. A \
       command of dune's runs with that OCaml."
    in
    Arg.(value & flag & info [ "build" ] ~doc)
  in
  let program =
    let doc = "The program, and its arguments." in
    Arg.(non_empty & pos_all string [] & info [] ~docv:"PROGRAM" ~doc)
  in
  Cmd.v (Cmd.info "race" ~doc ~man) Term.(const race $ builds $ program)
