(* Runs every example's program on a small size, and one of its own whose parallel
   answer is wrong: [check.exe wrong] is that program. *)

open Muster_examples
open Running

let small =
  [
    ("fib", [ "--size=20" ]);
    ("fib", [ "--size=22"; "--cutoff=10" ]);
    ("fib_twice", [ "--size=20" ]);
    ("spectral_norm", [ "--size=100" ]);
    ("life", [ "--size=64"; "--iterations=20" ]);
    ("stencil", [ "--size=64"; "--iterations=20" ]);
    ("stencil", [ "--size=1"; "--iterations=2" ]);
    ("nbody", [ "--size=50"; "--iterations=10" ]);
    ("fork_union_nbody", [ "--size=32"; "--iterations=50" ]);
    ("c_nbody", [ "--size=32"; "--iterations=50" ]);
    ("quicksort", [ "--size=20_000" ]);
    ("mergesort", [ "--size=20_000" ]);
    ("lu", [ "--size=60" ]);
    ("counter", [ "--size=20_000" ]);
    ("blocking_stack", [ "--size=5_000" ]);
    ("treiber_stack", [ "--size=5_000" ]);
    ("logging", [ "--size=500" ]);
    ("pipeline", [ "--size=600_000" ]);
    ("pipeline", [ "--size=600_000"; "--stages=1000" ]);
    ("ordered", [ "--size=50" ]);
    ("ordered", [ "--size=50"; "--window=1" ]);
    ("subprocesses", [ "--size=9" ]);
    ("subprocesses", [ "--size=3"; "--limit=1" ]);
    ("philosophers", [ "--size=5_000" ]);
    ("cram", [ "--size=4" ]);
    ("pricer", [ "--size=3_200" ]);
    ("pricer", [ "--size=3_200"; "--seed=7" ]);
  ]

let wrong () =
  let rows n =
    [
      Example.row "off by one" ~shows:"An error." ~show:string_of_int
        ~sequential:(fun () -> n)
        ~parallel:(fun _ -> n + 1);
    ]
  in
  let size = Example.size ~default:1 "The right answer." in
  let _, _, command =
    Example.command ~name:"wrong" ~doc:"a wrong answer" ~size (Cmdliner.Term.const rows)
  in
  exit (Cmdliner.Cmd.eval' ~argv:[| "wrong" |] command)

let runs pool_options (name, arguments) =
  let run () = expect ~code:0 ~saying:"speed-up" (exe name) (arguments @ pool_options) in
  Alcotest.test_case (String.concat " " (name :: arguments)) `Quick run

let refuses (name, _, _) =
  let refuse argument () =
    expect ~code:Cmdliner.Cmd.Exit.cli_error ~saying:"is not a whole number" (exe name) [ argument ]
  in
  List.map
    (fun argument -> Alcotest.test_case (name ^ " " ^ argument) `Quick (refuse argument))
    [ "--size=-1"; "--size=many"; "--domains=0"; "--domains=-3" ]

let every_example_is_listed () =
  let names = List.map (fun (name, _, _) -> name) Registry.twins in
  Alcotest.(check (list string))
    "run small" (List.sort compare names)
    (List.sort_uniq compare (List.map fst small))

let detects_a_wrong_answer () =
  expect ~code:1 ~saying:"the parallel answer (2) differs from the sequential answer (1)"
    Sys.executable_name [ "wrong" ]

let cannot_write () =
  if not (Sys.file_exists "/dev/full") then Alcotest.skip ();
  let check (program, arguments) =
    let said = Filename.temp_file "muster_example" ".log" in
    let code =
      Sys.command (Filename.quote_command program arguments ~stdout:"/dev/full" ~stderr:said)
    in
    let printed = In_channel.with_open_bin said In_channel.input_all in
    Sys.remove said;
    Alcotest.(check int) (program ^ " exits with\n" ^ printed) Cmdliner.Cmd.Exit.some_error code;
    match String.split_on_char '\n' printed with
    | [ line; "" ] when contains line ": cannot write: " -> ()
    | _ -> Alcotest.failf "%s says:\n%s" program printed
  in
  let closure = Filename.concat "closure" "main" in
  List.iter check
    [
      (exe "fib", [ "--size=9" ]);
      (exe closure, [ "--generate=9"; "--repeat=1" ]);
      (exe "run", [ "--help=plain" ]);
    ]

let by_name () = expect ~code:0 ~saying:"speed-up" (exe "run") [ "fib"; "--size=10" ]

let several =
  [
    ("2 domains", List.map (runs [ "--domains=2" ]) small);
    ("3 domains", List.map (runs [ "--domains=3"; "--oversubscribe" ]) small);
    ("a service", Check_programs.service);
    ("a runner", Check_programs.runner);
  ]

(* The number of workers tells nothing about these. *)
let others =
  [
    ("1 domain", List.map (runs [ "--domains=1" ]) small);
    ("bad options", List.concat_map refuses Registry.twins);
    ("an option -j", Check_programs.jobs);
    ( "programs",
      [
        Alcotest.test_case "every example is listed" `Quick every_example_is_listed;
        Alcotest.test_case "a wrong answer is exit code 1" `Quick detects_a_wrong_answer;
        Alcotest.test_case "run by name" `Quick by_name;
        Alcotest.test_case "output that cannot be written" `Quick cannot_write;
      ] );
  ]

let () =
  match Sys.argv with
  | [| _; "wrong" |] -> wrong ()
  | [| _; "workers"; option |] -> Check_programs.print_workers option
  | _ ->
    let flipped = Option.is_some (Sys.getenv_opt "MUSTER_GOVERNOR") in
    Alcotest.run "examples" (if flipped then several else several @ others)
