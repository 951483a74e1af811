(* [muster scale]: the laws by themselves, and the command as a user meets it. *)

open Muster_scale

let case name f = Alcotest.test_case name `Quick f
let close = Alcotest.float 1e-6

(* {2 Laws} *)

let law one sigma kappa = { Laws.one; sigma; kappa; error = 0. }
let times ~cpus law counts = List.map (fun n -> (n, Laws.time ~cpus law n)) counts

let known () =
  let law = law 10. 0.1 0.01 in
  Alcotest.check close "one worker" 10. (Laws.time ~cpus:8. law 1);
  Alcotest.check close "two" (10. *. (0.5 +. 0.05 +. 0.01)) (Laws.time ~cpus:8. law 2);
  Alcotest.check close "as it is written"
    (4. /. (1. +. (0.1 *. 3.) +. (0.01 *. 12.)))
    (Laws.speed_up law 4.);
  Alcotest.check close "the time is its inverse"
    (10. /. Laws.time ~cpus:8. law 4)
    (Laws.speed_up law 4.);
  Alcotest.check close "peak" (sqrt 90.) (Laws.peak law);
  Alcotest.(check int) "best of eight CPUs" 8 (Laws.best ~cpus:8. law);
  Alcotest.(check int) "best of many" 9 (Laws.best ~cpus:64. law)

let edges () =
  let nothing = Laws.amdahl ~cpus:1. [ (1, 1.); (2, 1.) ] in
  Alcotest.(check bool) "one CPU tells nothing of two" true (nothing = None);
  Alcotest.(check bool)
    "two times are too few" true
    (Laws.universal ~cpus:2. [ (1, 1.); (2, 0.6) ] = None);
  let serial = Option.get (Laws.amdahl ~cpus:2. [ (1, 1.); (2, 1.) ]) in
  Alcotest.check close "nothing gained" 1. serial.sigma;
  Alcotest.(check int) "then one is best" 1 (Laws.best ~cpus:2. serial);
  let more_than_linear = Option.get (Laws.amdahl ~cpus:2. [ (1, 1.); (2, 0.4) ]) in
  Alcotest.check close "no part below 0" 0. more_than_linear.sigma;
  let slower = Option.get (Laws.universal ~cpus:2. [ (1, 1.); (2, 1.5); (3, 2.); (4, 2.5) ]) in
  Alcotest.(check bool) "crosstalk, where more is worse" true (slower.kappa > 0.4);
  Alcotest.(check int) "one is best there" 1 (Laws.best ~cpus:2. slower)

(* Two CPUs, and perfect on them: what more workers do not give is no fault of the program. *)
let above_the_cpus () =
  let law = Option.get (Laws.universal ~cpus:2. [ (1, 1.); (2, 0.5); (3, 0.5); (4, 0.5) ]) in
  Alcotest.check close "no contention" 0. law.sigma;
  Alcotest.check close "no crosstalk" 0. law.kappa

let arbitrary_law =
  let open QCheck.Gen in
  let gen =
    map3
      (fun one (sigma, kappa) cpus -> (one, sigma, kappa, cpus))
      (float_range 1e-3 1e3)
      (pair (float_range 0. 1.) (float_range 0. 0.5))
      (int_range 2 64)
  in
  let print (one, sigma, kappa, cpus) = Printf.sprintf "%g %g %g on %d" one sigma kappa cpus in
  QCheck.make ~print gen

let near a b = Float.abs (a -. b) < 1e-6 *. Float.max 1. (Float.abs a)
let counts cpus = List.sort_uniq Int.compare [ 1; 2; cpus; cpus + 1; 2 * cpus ]

let finds_again =
  QCheck.Test.make ~name:"finds the law that made the times" ~count:500 arbitrary_law
    (fun (one, sigma, kappa, cpus) ->
      let cpus = float_of_int cpus in
      let counts = counts (int_of_float cpus) in
      let universal = Laws.universal ~cpus (times ~cpus (law one sigma kappa) counts) in
      let amdahl = Laws.amdahl ~cpus (times ~cpus (law one sigma 0.) counts) in
      match (universal, amdahl) with
      | Some u, Some a ->
        near one u.one && near sigma u.sigma && near kappa u.kappa && near sigma a.sigma
      | _ -> false)

(* Whatever the times of further workers: no number below 0, and no neighbour among the laws comes nearer. *)
let is_least =
  let others = QCheck.Gen.(list_size (return 4) (float_range 0.2 1.2)) in
  let times = QCheck.make ~print:QCheck.Print.(list float) (QCheck.Gen.map (List.cons 1.) others) in
  QCheck.Test.make ~name:"no law near it is better" ~count:500 times (fun times ->
      let cpus = 4. in
      let samples = List.mapi (fun i t -> (i + 1, t)) times in
      let off law =
        let one (n, t) = ((Laws.time ~cpus law n /. t) -. 1.) ** 2. in
        sqrt (List.fold_left (fun sum it -> sum +. one it) 0. samples /. 5.)
      in
      match Laws.universal ~cpus samples with
      | None -> false
      | Some found ->
        let step = [ -0.01; 0.; 0.01 ] in
        let near d_one d_sigma d_kappa =
          let law = law (found.one +. d_one) (found.sigma +. d_sigma) (found.kappa +. d_kappa) in
          law.sigma < 0. || law.kappa < 0. || off law >= found.error -. 1e-9
        in
        near 0. 0. 0.
        && Float.abs (off found -. found.error) < 1e-9
        && List.for_all (fun a -> List.for_all (fun b -> List.for_all (near a b) step) step) step)

(* {2 The command} *)

let muster = Filename.concat Filename.parent_dir_name "main.exe"
let fib = "../../examples/fib.exe"

let scale ?stdout arguments =
  let file = Filename.temp_file "muster_scale" "" in
  let errors = file ^ ".errors" in
  let out = Option.value stdout ~default:file in
  let code =
    Sys.command (Filename.quote_command muster ("scale" :: arguments) ~stdout:out ~stderr:errors)
  in
  let read file = In_channel.with_open_bin file In_channel.input_all in
  let printed = (read file, read errors) in
  Sys.remove file;
  Sys.remove errors;
  (code, printed)

let contains text part =
  let n = String.length part in
  let rec at i = i + n <= String.length text && (String.sub text i n = part || at (i + 1)) in
  at 0

let says text part = if not (contains text part) then Alcotest.failf "no %S in:\n%s" part text

let expect ?(out = []) ?(errors = []) code arguments () =
  let got, (printed, complained) = scale arguments in
  Alcotest.(check int) ("exit code with\n" ^ printed ^ complained) code got;
  List.iter (says printed) out;
  List.iter (says complained) errors;
  if errors = [] then Alcotest.(check string) "no complaint" "" complained

let measures () =
  let svg = Filename.temp_file "muster_scale" ".svg" in
  let sequential = fib ^ " --size 20 --help=plain" in
  expect 0
    [
      "--rounds";
      "2";
      "--workers";
      "2,3";
      "--serial";
      sequential;
      "--svg";
      svg;
      "--";
      fib;
      "--size";
      "25";
    ]
    ~out:
      [
        "sequential";
        "1 worker ";
        "2 workers";
        "vs serial";
        "vs self";
        "CPUs used";
        "Amdahl's law";
        "Universal scalability law";
        "Best count: measured";
        "o measured";
      ]
    ();
  let picture = In_channel.with_open_bin svg In_channel.input_all in
  Sys.remove svg;
  List.iter (says picture)
    [ "<svg"; "</svg>"; "measured"; "ideal"; "<title>" ^ fib ^ " --size 25</title>" ]

let odd_title () =
  let picture = Plot.to_svg ~title:"a\xff\001<" { Plot.cpus = 2.; measured = [ (1, 1.) ]; curves = [] } in
  says picture "<title>a\\255\\001&lt;</title>"

(* Times of it are no ground for a law. *)
let without_muster () =
  let code, (printed, errors) = scale [ "--rounds"; "1"; "--workers"; "2"; "--"; "true" ] in
  Alcotest.(check int) "status" 0 code;
  says printed "vs self";
  says errors "true has not used a pool of Muster";
  Alcotest.(check bool) "no laws" false (contains printed "law")

(* The run that does not count adds figures, which hide no message. *)
let says_why =
  let script = "echo why >&2; printf 'Muster: pool \"a\"\\n  pool 2\\n' >&2; exit 7" in
  expect 7 [ "--"; "sh"; "-c"; script ] ~errors:[ "ended with status 7\n  why\n" ]

(* It runs alone first, and fails only when two more runs have counted. *)
let fails_later () =
  let file = Filename.temp_file "muster_scale" ".count" in
  let script =
    Printf.sprintf "echo >>%s; [ $(wc -l <%s) -lt 4 ] || { echo why >&2; exit 7; }" file file
  in
  expect 7
    [ "--rounds"; "3"; "--workers"; "2"; "--"; "sh"; "-c"; script ]
    ~out:[ "1 worker "; "2 workers" ]
    ~errors:[ "sh on 2 workers ended with status 7\n  why" ]
    ();
  Sys.remove file

let prints_much =
  expect 0
    [
      "--rounds";
      "1";
      "--workers";
      "1";
      "--";
      "sh";
      "-c";
      "head -c 20000000 /dev/zero | tee /dev/stderr";
    ]
    ~out:[ "1 worker " ] ~errors:[ "has not used" ]

(* A child that lives on holds the pipe open. *)
let leaves_a_child =
  expect 0
    [ "--rounds"; "1"; "--workers"; "1"; "--"; "sh"; "-c"; "sleep 20 & exit 0" ]
    ~out:[ "1 worker " ] ~errors:[ "has not used" ]

let await_line channel = ignore (In_channel.input_line channel)

(* As kill sends it, to the command alone; the program ends by it, or in its own way. *)
let interrupted script code () =
  let out, its_end = Unix.pipe ~cloexec:true () in
  let errors = Unix.openfile Filename.null [ O_RDWR ] 0 in
  let argv = [| muster; "scale"; "--rounds"; "1"; "--"; "sh"; "-c"; script |] in
  let file = Filename.temp_file "muster_scale" ".started" in
  Unix.putenv "STARTED" file;
  Sys.remove file;
  let pid = Unix.create_process muster argv Unix.stdin its_end errors in
  Unix.close its_end;
  while not (Sys.file_exists file) do
    Unix.sleepf 0.01
  done;
  Unix.kill pid Sys.sigint;
  await_line (Unix.in_channel_of_descr out);
  let _, status = Unix.waitpid [] pid in
  Sys.remove file;
  Alcotest.(check int) "status" code (Child.code status)

let cannot_write () =
  if not (Sys.file_exists "/dev/full") then Alcotest.skip ();
  let code, (_, errors) = scale ~stdout:"/dev/full" [ "--rounds"; "1"; "--"; "true" ] in
  Alcotest.(check int) "status" Cmdliner.Cmd.Exit.some_error code;
  says errors "muster: cannot write: "

let bad_use =
  let usage = Cmdliner.Cmd.Exit.cli_error in
  [
    case "no program" (expect usage [] ~errors:[ "PROGRAM" ]);
    case "no number" (expect usage [ "--workers"; "1,x"; "--"; "true" ] ~errors:[ "x" ]);
    case "a program that is not there"
      (expect 127 [ "--"; "./absent" ] ~errors:[ "./absent: no such program" ]);
    case "a directory" (expect 126 [ "--"; "/" ] ~errors:[ "/ cannot be started: " ]);
    case "a program without Muster" without_muster;
    case "a program whose pool has its own size"
      (expect 0
         [ "--rounds"; "1"; "--workers"; "3"; "--"; "../../test/why/planted.exe"; "domains"; "0.02" ]
         ~out:[ "3 workers" ]
         ~errors:[ "had a pool of 8 workers where MUSTER_DOMAINS asked for 3" ]);
    case "a program that fails at once"
      (expect 3 [ "--"; "sh"; "-c"; "exit 3" ] ~errors:[ "ended with status 3" ]);
    case "a program that is killed"
      (expect 137 [ "--"; "sh"; "-c"; "kill -9 $$" ] ~errors:[ "was killed by signal 9" ]);
    case "a program that fails later" fails_later;
    case "its own message" says_why;
    case "more workers than OCaml has" (expect usage [ "--workers"; "1000"; "--"; fib ] ~errors:[ "domains" ]);
    case "a program that prints much" prints_much;
    case "a program whose child lives on" leaves_a_child;
    case "a picture that cannot be written"
      (expect Cmdliner.Cmd.Exit.some_error
         [ "--svg"; "/absent/f"; "--"; "true" ]
         ~errors:[ "cannot write: /absent/f" ]);
    case "onto a full disk" cannot_write;
    case "SIGINT" (interrupted "echo >$STARTED; exec sleep 60" 130);
    case "SIGINT that the program handles"
      (interrupted "trap 'exit 9' INT; echo >$STARTED; sleep 60 & wait" 9);
  ]

let () =
  Alcotest.run "muster scale"
    [
      ( "laws",
        [ case "known" known; case "edges" edges; case "above the CPUs" above_the_cpus ]
        @ List.map QCheck_alcotest.to_alcotest [ finds_again; is_least ] );
      ("command", [ case "measures and draws" measures; case "a title that is no text" odd_title ]);
      ("bad use", bad_use);
    ]
