(* The command as a user meets it, and what the doctor says about other machines. *)

open Muster_core
open Muster_cli

let muster = Filename.concat Filename.parent_dir_name "main.exe"

(* Its exit code, and what it printed on both channels, or on the one for errors. *)
let outcome ?stdout arguments =
  let log = Filename.temp_file "muster_cli" ".log" in
  let stdout = Option.value stdout ~default:log in
  let command = Filename.quote_command muster arguments ~stdout ~stderr:log in
  let code = Sys.command command in
  let printed = In_channel.with_open_bin log In_channel.input_all in
  Sys.remove log;
  (code, printed)

let contains text part =
  let n = String.length part in
  let rec at i = i + n <= String.length text && (String.sub text i n = part || at (i + 1)) in
  at 0

let says text part = if not (contains text part) then Alcotest.failf "no %S in:\n%s" part text

let expect ?(code = 0) arguments parts () =
  let got, printed = outcome arguments in
  Alcotest.(check int) ("exit code with\n" ^ printed) code got;
  List.iter (says printed) parts

let cli_error = Cmdliner.Cmd.Exit.cli_error

(* {2 The command} *)

let version () =
  let code, printed = outcome [ "--version" ] in
  Alcotest.(check int) "exit code" 0 code;
  Alcotest.(check string) "one line" (Facts.muster_version ^ "\n") printed;
  Alcotest.(check bool) "not empty" true (Facts.muster_version <> "")

let lists_examples () =
  let _, printed = outcome [ "run" ] in
  let names = List.map (fun (name, _, _) -> name) Muster_examples.Registry.all in
  List.iter (fun name -> says printed ("\n  " ^ name ^ " ")) ("closure" :: names)

let cannot_write () =
  if not (Sys.file_exists "/dev/full") then Alcotest.skip ();
  let check arguments =
    let code, printed = outcome arguments ~stdout:"/dev/full" in
    Alcotest.(check int) ("exit code with\n" ^ printed) Cmdliner.Cmd.Exit.some_error code;
    match String.split_on_char '\n' printed with
    | [ line; "" ] -> says line "muster: cannot write: "
    | _ -> Alcotest.failf "not one line:\n%s" printed
  in
  List.iter check
    [
      [ "run"; "fib"; "--size=9" ];
      [ "run"; "closure"; "--generate=9"; "--repeat=1" ];
      [ "run" ];
      [ "doctor"; "--json" ];
      [ "--help=plain" ];
    ]

let with_variable name value f =
  let before = Option.value (Sys.getenv_opt name) ~default:"" in
  let restore () = Unix.putenv name before in
  Unix.putenv name value;
  Fun.protect ~finally:restore f

let with_setting = with_variable "MUSTER_DOMAINS"

let heeds_setting () =
  let doctor = expect [ "doctor" ] in
  with_setting "1" (doctor [ "will run 1 worker: MUSTER_DOMAINS asks for 1." ]);
  with_setting "no" (doctor [ "MUSTER_DOMAINS=no is ignored"; "by affinity" ])

(* As the runtime does, where both variables are set. *)
let heeds_one_variable () =
  with_setting "2" @@ fun () ->
  with_variable "CAMLRUNPARAM" "s=32k" @@ fun () ->
  with_variable "OCAMLRUNPARAM" "b"
    (expect [ "doctor" ] [ "262144 words, the runtime's default"; "minor heaps of 524288 words: " ])

(* The runtime reads it as a heap of one word, and takes the smallest that there is. *)
let heap_without_number () =
  with_setting "2" @@ fun () ->
  with_variable "OCAMLRUNPARAM" "s"
    (expect [ "doctor" ] [ "words, set by OCAMLRUNPARAM"; "stay as OCAMLRUNPARAM has set them" ])

let parses () =
  let code, printed = outcome [ "doctor"; "--json" ] in
  Alcotest.(check int) "exit code" 0 code;
  let open Yojson.Basic.Util in
  let json = Yojson.Basic.from_string printed in
  let number group name = json |> member group |> member name |> to_int in
  let available = number "cpus" "available" in
  Alcotest.(check int) "as the library says" (Cpu.available ()) available;
  let workers = number "pool" "workers" in
  Alcotest.(check int) "as planned" (Cpu.available ()) workers;
  let heaps = json |> member "pool" |> member "minor_heap_words" |> to_list in
  Alcotest.(check int) "a minor heap for each" workers (List.length heaps);
  let trial = json |> member "pool" |> member "trial" in
  let first = trial |> member "decisions" |> to_list |> List.hd in
  Alcotest.(check bool) "a decision has a reason" true (first |> member "why" |> to_string <> "");
  Alcotest.(check bool) "some worked" true (trial |> member "workers" |> to_int > 0);
  Alcotest.(check string)
    "the OCaml" Sys.ocaml_version
    (json |> member "ocaml" |> member "version" |> to_string)

(* A domain that ended for lack of work, or of a CPU, starts again with the runtime's heap. *)
let late_heaps () =
  Muster.Pool.with_ ~domains:2 ~oversubscribe:true @@ fun pool ->
  let is_alone () = (Muster.Pool.stats pool).workers = 1 in
  while not (is_alone ()) do
    Unix.sleepf 0.01
  done;
  let words = (Gc.get ()).minor_heap_size in
  Alcotest.(check (list int)) "words" [ words; words ] (Facts.worker_heaps pool)

(* {2 Advice about other machines} *)

let report ?setting ?cpu_max affinity =
  let read = function
    | "/proc/self/cgroup" -> Some "0::/\n"
    | "/proc/self/mountinfo" -> Some "1 0 0:1 / /cg rw - cgroup2 cgroup2 rw\n"
    | "/cg/cpu.max" -> cpu_max
    | _ -> None
  in
  Cpu.report_of ~affinity ~runtime_limit:128 ~setting ~read

let plan () =
  let check report expected =
    let text = "The default pool will run " ^ expected in
    Alcotest.(check string) expected text (Advice.plan report)
  in
  let half =
    " The calling thread is one of them: while it blocks in a task, half of the pool is idle \
     (Task.blocking avoids that)."
  in
  check (report 2) ("2 workers: 2 CPUs by affinity, no cgroup quota." ^ half);
  check (report 1)
    "1 worker: 1 CPU by affinity, no cgroup quota. Everything runs in the caller, as in a \
     sequential program.";
  check
    (report 64 ~cpu_max:"150000 100000")
    ("2 workers: 64 CPUs by affinity, a cgroup quota of 1.5 CPUs (/cg/cpu.max)." ^ half);
  check (report 2 ~setting:"3") "3 workers: MUSTER_DOMAINS asks for 3.";
  check (report 2 ~setting:"999")
    "128 workers: MUSTER_DOMAINS asks for 999, and OCaml can have 128 domains.";
  check (report 128)
    "128 workers: 128 CPUs by affinity, the most that OCaml can use, no cgroup quota."

let here = lazy (Facts.gather ())

let quiet : Facts.sight =
  {
    run_queue_wait = true;
    runnable = Some 1;
    online = 2;
    whole_machine = true;
    governor = On;
    ignored_governor = None;
  }

let facts ?(minor_heap = 262_144) ?workers ?(sight = quiet) (cpu : Cpu.report) =
  let workers = Option.value workers ~default:cpu.available in
  let here = Lazy.force here in
  let minor_heaps = List.init workers (fun _ -> minor_heap) in
  { here with cpu; sight; pool = { here.pool with workers; minor_heaps } }

let beside_others () =
  let check ?(cpus = 2) sight sees does =
    says (Advice.sees sight) sees;
    says (Advice.beside_others (facts (report cpus) ~sight)) does
  in
  let both = "how long each worker waits for a CPU, and how long CPUs" in
  check quiet both "use 2 CPUs now: 1 runnable thread for 2 CPUs";
  check { quiet with runnable = Some 2 } both "use 1 of 2 CPUs now: 2 runnable threads";
  check { quiet with online = 8; runnable = Some 6 } ~cpus:8 both "use 3 of 8 CPUs";
  check { quiet with governor = Off } both "MUSTER_GOVERNOR=off";
  check quiet ~cpus:1 both "no worker that could step aside";
  let blind = "but not whether one is free" in
  check { quiet with whole_machine = false } blind "half of the time";
  check { quiet with runnable = None } blind "half of the time";
  let elsewhere = { quiet with run_queue_wait = false; runnable = None } in
  check elsewhere "nothing" "whatever other programs run"

let policies () =
  let heap facts part = says (Advice.heap facts) part in
  heap (facts (report 2)) "have 524288 words";
  heap (facts (report 1)) "stays as it is";
  heap { (facts (report 2)) with minor_heap_source = Parameters } "OCAMLRUNPARAM";
  let bounded room = heap { (facts (report 2)) with minor_heap_room = room } in
  bounded 0 "stay as they are: the address space";
  says Advice.idle "after 150 ms"

let warnings () =
  let check what facts parts =
    let texts = Advice.warnings facts in
    Alcotest.(check int)
      (String.concat "\n" (what :: texts))
      (List.length parts) (List.length texts);
    List.iter2 says texts parts
  in
  check "nothing to warn of" (facts (report 2)) [];
  check "ample quota" (facts (report 2 ~cpu_max:"400000 100000")) [];
  check "tight quota" (facts (report 8 ~cpu_max:"200000 100000")) [ "quota of 2 CPUs is less" ];
  check "rounded quota"
    (facts (report 8 ~cpu_max:"150000 100000"))
    [ "quota of 1.5 CPUs is less"; "2 workers on 1.5 CPUs" ];
  check "half a CPU" (facts (report 8 ~cpu_max:"50000 100000")) [ "quota of 0.5 CPUs" ];
  check "more than CPUs" (facts (report 2 ~setting:"3")) [ "Unset MUSTER_DOMAINS" ];
  check "setting" (facts (report 2 ~setting:"0")) [ "MUSTER_DOMAINS=0 is ignored" ];
  check "setting of several lines" (facts (report 2 ~setting:"2\n\027[31m")) [ {|=2\n\027[31m is|} ];
  let mistyped = { quiet with ignored_governor = Some "OFF" } in
  check "governor" (facts (report 2) ~sight:mistyped) [ "MUSTER_GOVERNOR=OFF is ignored" ];
  check "fewer started" (facts (report 4) ~workers:3) [ "Only 3 workers of 4" ];
  check "small minor heap" (facts (report 2) ~minor_heap:32_768) [ "has 32768 words" ];
  check "small minor heap, alone" (facts (report 1) ~minor_heap:32_768) [];
  let crowded = { quiet with runnable = Some 5; governor = Off } in
  check "neighbours, unheeded" (facts (report 2) ~sight:crowded) [ "MUSTER_GOVERNOR=off" ];
  check "neighbours" (facts (report 2) ~sight:{ crowded with governor = On }) []

let shown () =
  let facts = facts (report 8 ~cpu_max:"200000 100000") in
  let text = Text.of_facts facts in
  List.iter (says text)
    [ "8 CPUs"; "/cg/cpu.max: 2 CPUs"; "262144 words of"; "Warnings\n  - "; "and why:\n    " ];
  let odd = { facts.ocaml with parameters = Some "v=0\n" } in
  says (Text.of_facts { facts with ocaml = odd }) {|OCAMLRUNPARAM    v=0\n|};
  let json = Yojson.Basic.to_string (Json.of_facts facts) in
  List.iter (says json) [ {|{"file":"/cg/cpu.max","cpus":2.0}|}; {|"muster_domains":null|} ];
  let odd = Yojson.Basic.to_string (Json.of_facts { facts with muster = "\xff" }) in
  says odd {|"muster":"\\255"|}

let case name run = Alcotest.test_case name `Quick run
let prints name arguments parts = case name (expect arguments parts)

(* Without the terminal's bold and underlined letters. *)
let plainly name arguments parts =
  case name (fun () -> with_variable "TERM" "dumb" (expect arguments parts))

let refuses name arguments parts = case name (expect arguments parts ~code:cli_error)
let shows_manual_instead = String.starts_with ~prefix:"1." Cmdliner_version.it

let command =
  [
    case "--version" version;
    prints "--help" [ "--help=plain" ] [ "NAME"; "doctor"; "run"; "EXIT STATUS" ];
    prints "alone" [] [ "NAME"; "COMMANDS" ];
    refuses "unknown" [ "rum" ] [ "rum"; "run" ];
    plainly "help" [ "help" ] [ "NAME"; "COMMANDS" ];
    plainly "help of a command" [ "help"; "doctor" ] [ "muster doctor"; "--json" ];
    plainly "help of an example" [ "help"; "run"; "fib" ] [ "muster run fib"; "--cutoff" ];
    (let it = "help of what is not there" and arguments = [ "help"; "rum" ] in
     if shows_manual_instead then plainly it arguments [ "NAME"; "COMMANDS" ]
     else refuses it arguments [ "rum"; "run" ]);
    case "onto a full disk" cannot_write;
  ]

let run =
  [
    case "lists" lists_examples;
    prints "fib" [ "run"; "fib"; "--size"; "20" ] [ "10946" ];
    prints "closure" [ "run"; "closure"; "--generate=200" ] [ "200 packages" ];
    case "closure's own exit code"
      (expect [ "run"; "closure"; "--index=absent" ] ~code:2 [ "absent" ]);
    prints "its help" [ "run"; "fib"; "--help=plain" ] [ "--size" ];
    refuses "near" [ "run"; "fbi" ] [ "fbi"; "fib" ];
    refuses "unknown" [ "run"; "zzz" ] [ "zzz"; "closure"; "life" ];
    refuses "bad size" [ "run"; "fib"; "--size=x" ] [ "--size" ];
  ]

let doctor =
  [
    prints "text" [ "doctor" ] [ "CPUs\n"; "OCaml\n"; "The default pool will" ];
    case "--json" parses;
    case "MUSTER_DOMAINS" heeds_setting;
    case "CAMLRUNPARAM beside OCAMLRUNPARAM" heeds_one_variable;
    case "a heap without a number" heap_without_number;
    case "heaps of domains that start late" late_heaps;
    case "the plan" plan;
    case "beside other programs" beside_others;
    case "policies" policies;
    case "warnings" warnings;
    case "shows what it found" shown;
  ]

let () = Alcotest.run "muster" [ ("command", command); ("run", run); ("doctor", doctor) ]
