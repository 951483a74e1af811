(* muster race: what it makes of ThreadSanitizer's reports, and how it runs programs. Those with a race
   have been recorded; make tsan runs them. *)

open Muster_race

let contains text part = Compilers.contains text part
let says text part = if not (contains text part) then Alcotest.failf "no %S in:\n%s" part text
let root = Filename.(dirname (dirname (Sys.getcwd ())))

(* {2 Reports} *)

let read channel =
  let races = Races.find ~roots:[ root ] and others = ref [] in
  let other line = others := line :: !others in
  Sanitizer.read channel ~report:(Races.add races) ~other;
  (races, !others)

let recorded name = fst (In_channel.with_open_bin (name ^ ".log") read)

let of_text text =
  let path = Filename.temp_file "muster_race" ".log" in
  Fun.protect
    ~finally:(fun () -> Sys.remove path)
    (fun () ->
      Out_channel.with_open_bin path (fun channel -> output_string channel text);
      In_channel.with_open_bin path read)

let names name ~pairs parts () =
  let races = recorded name in
  let text = Races.to_string races in
  Alcotest.(check int) ("pairs in\n" ^ text) pairs (Races.count races);
  List.iter (says text) parts

let report ?(pid = 1) one other =
  Printf.sprintf
    "==================\nWARNING: ThreadSanitizer: data race (pid=%d)\n\
    \  Write of size 8 at 0x7b by thread T1 (mutexes: write M81):\n%s\n\
    \  Previous read of size 8 at 0x7b by main thread:\n%s\n\
    \  Thread T1 (tid=5, running) created by main thread at:\n\
    \    #0 camlStdlib__Domain.spawn_1 /opt/domain.ml:3 (main.exe+0x3)\n\
    \    #1 camlMain.start_2 test/race/race_counter.ml:13 (main.exe+0x4)\n\n\
     SUMMARY: ThreadSanitizer: data race main.ml:5 in camlMain.set_281\n==================\n"
    pid (String.concat "\n" (List.mapi (fun i it -> Printf.sprintf "    #%d %s" i it) one))
    (String.concat "\n" (List.mapi (fun i it -> Printf.sprintf "    #%d %s" i it) other))

let at line = Printf.sprintf "camlMain.set_281 test/race/race_counter.ml:%d (main.exe+0x12)" line
let in_library = "camlStdlib__Weak.find_aux_780 /home/user/.opam/stdlib/weak.ml:280 (main.exe+0x7)"

let of_reports reports =
  let races, others = of_text (String.concat "" reports) in
  Alcotest.(check (list string)) "nothing else" [] others;
  races

let joined () =
  let races =
    of_reports
      [
        report [ at 7 ] [ at 5 ];
        report [ at 5 ] [ at 7 ] ~pid:2;
        report [ in_library; at 7 ] [ at 5 ];
        report [ at 7 ] [ at 7 ];
      ]
  in
  let text = Races.to_string races in
  Alcotest.(check int) text 2 (Races.count races);
  says text "Race 1, at test/race/race_counter.ml:5 and test/race/race_counter.ml:7, reported 3 times";
  says text "Race 2, at test/race/race_counter.ml:7, reported once";
  says text "in a domain or thread that was started at test/race/race_counter.ml:13";
  says text "2 races."

let silent what reports () =
  let races = of_reports reports in
  Alcotest.(check string) what "" (Races.to_string races);
  Alcotest.(check bool) what false (Races.found_any races)

let collector =
  [ "caml_ephe_clean runtime/weak.c:154 (main.exe+0x7d29b7)"; "ephe_sweep runtime/major_gc.c:1225 (m+0x7)";
    "major_collection_slice runtime/major_gc.c:1684 (main.exe+0x7)"; "caml_call_gc <null> (main.exe+0x7)"; at 7 ]

let thread_of_runtime =
  [ "free_domain_ml_values runtime/domain.c:10 (main.exe+0x1)"; "domain_thread_func runtime/domain.c:9 (main.exe+0x2)" ]

let primitive = [ "caml_modify runtime/memory.c:225 (main.exe+0x32386d)"; at 7 ]
let finaliser = at 7 :: List.tl collector

let shown () =
  let count reports = Races.count (of_reports reports) in
  Alcotest.(check int) "a write by the runtime for the program" 1 (count [ report primitive [ at 5 ] ]);
  Alcotest.(check int) "a finaliser" 1 (count [ report finaliser [ at 5 ] ])

let without_sources () =
  let far line = Printf.sprintf "camlOther.get_1 /home/other/lib/other.ml:%d (main.exe+0x12)" line in
  let text = Races.to_string (of_reports [ report [ in_library; far 7 ] [ far 8 ] ]) in
  says text "/home/other/lib/other.ml:7 and /home/other/lib/other.ml:8";
  let lost = Races.to_string (of_reports [ report [ at 7 ] [] ]) in
  says lost "ThreadSanitizer has lost its calls"

let odd () =
  let races, others = of_text "FATAL: ThreadSanitizer: unexpected memory mapping\n" in
  Alcotest.(check (list string)) "other lines" [ "FATAL: ThreadSanitizer: unexpected memory mapping" ] others;
  Alcotest.(check bool) "no race" false (Races.found_any races);
  let whole = report [ at 7 ] [ at 5 ] in
  let cut = String.sub whole 0 (String.length whole - 300) in
  Alcotest.(check int) "a report that was cut" 1 (Races.count (fst (of_text cut)));
  let kind = "WARNING: ThreadSanitizer: heap-use-after-free (pid=7)\n  Write of size 8 at 0x7 by main thread:\n" in
  says (Races.to_string (fst (of_text kind))) "also reported a heap-use-after-free, once"

let functions () =
  let called name = Sanitizer.called { name; place = None } in
  let check name expected = Alcotest.(check string) name expected (called name) in
  check "camlStdlib__Hashtbl.replace_1400" "Hashtbl.replace";
  check "camlDune__exe__Main.fun_514" "a function of Main";
  check "camlStdlib__Hashtbl__iter_760" "Hashtbl.iter";
  check "caml_modify" "caml_modify"

(* {2 The command} *)

let muster = Filename.concat root "cli/main.exe"

let outcome ?(env = []) arguments =
  let log = Filename.temp_file "muster_race" ".log" in
  let line = Filename.quote_command muster ("race" :: arguments) ~stdout:log ~stderr:log in
  let settings = List.map (fun (name, value) -> name ^ "=" ^ Filename.quote value ^ " ") env in
  let code = Sys.command (String.concat "" settings ^ line) in
  let text = In_channel.with_open_bin log In_channel.input_all in
  Sys.remove log;
  (code, text)

let expect ?env code arguments parts () =
  let got, text = outcome ?env arguments in
  Alcotest.(check int) ("exit status with\n" ^ text) code got;
  List.iter (says text) parts;
  text

let not_built () =
  let nowhere = [ ("XDG_CACHE_HOME", "/nonexistent") ] in
  let text = expect 123 [ "--"; "./no_race.exe" ] [ "ocaml-option-tsan"; "make tsan" ] ~env:nowhere () in
  Alcotest.(check int) text 3 (List.length (String.split_on_char '\n' (String.trim text)));
  ignore (expect 123 [ "--build"; "--"; "./no_race.exe" ] [ "make tsan" ] ~env:nowhere ())

let offers () =
  let cache = Filename.temp_dir "muster_race" "" in
  let compiler = Filename.concat cache "muster/ocaml-5.4.1-tsan" in
  let complete = Filename.concat compiler "complete" in
  let run fmt = Printf.ksprintf (fun line -> assert (Sys.command line = 0)) fmt in
  run "mkdir -p %s && touch %s" (Filename.quote compiler) (Filename.quote complete);
  let env = [ ("XDG_CACHE_HOME", cache) ] in
  ignore (expect 123 [ "--"; "./no_race.exe"; "-x" ] [ "muster race --build -- ./no_race.exe -x" ] ~env ());
  run "rm -r %s" (Filename.quote cache)

let case name f = Alcotest.test_case name `Quick f
let ignoring f () = ignore (f ())

let reports =
  [
    case "an unprotected counter"
      (names "counter" ~pairs:2
         [ ">    7 |     incr total"; "write in Race_counter.count"; "in a task forked at test/race/race_counter.ml:13" ]);
    case "a Hashtbl"
      (names "hashtbl" ~pairs:1
         [ "by Hashtbl.find_opt in Race_hashtbl.square"; "in a task forked at test/race/together.ml:13"; "Muster.Table" ]);
    case "a lazy value" (names "lazy" ~pairs:1 [ "Race_lazy.look"; "Muster.Lazy"; "race_lazy.ml:13" ]);
    case "Stdlib.Parsing" (names "parsing" ~pairs:1 [ "by Parsing.yyparse"; "state in Stdlib.Parsing" ]);
    case "the same pair is one" joined;
    case "of the collector" (silent "the collector's" [ report collector [ at 7 ]; report [ at 7 ] collector ]);
    case "of the runtime" (silent "the runtime's" [ report thread_of_runtime [ at 7 ] ]);
    case "none" (silent "no report" []);
    case "by the program's own code" shown;
    case "of code without sources" without_sources;
    case "cut, fatal, of another kind" odd;
    case "names of functions" functions;
  ]

let command =
  [
    case "not built for it" not_built;
    case "offers to build" offers;
    case "no such program" (ignoring (expect 127 [ "--"; "./absent" ] [ "./absent: no such program" ]));
    case "no program" (ignoring (expect 124 [] [ "PROGRAM" ]));
    case "--help" (ignoring (expect 0 [ "--help=plain" ] [ "ThreadSanitizer"; "EXIT STATUS" ]));
  ]

let () = Alcotest.run "muster race" [ ("reports", reports); ("command", command) ]
