(* Muster_mpi on 1 to 4 ranks of this machine, by mpirun. *)

open Harness

let quoted = Filename.quote
let beside name = Filename.concat (Filename.dirname Sys.executable_name) name

(* For Open MPI, as root, and with more ranks than CPUs: up to version 4, and from 5 on. *)
let allowed =
  [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1");
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    ("OMPI_MCA_rmaps_base_oversubscribe", "1");
    ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
  ]

let mpirun ?(env = []) ?interrupt ~ranks program arguments =
  let line = String.concat " " (List.map quoted (beside program :: arguments)) in
  let command = Printf.sprintf "exec mpirun -n %d %s" ranks line in
  Child.run ~env:(allowed @ env) ~limit:60. ?interrupt "/bin/sh" [ "-c"; command ]

(* Some machines let no program start others this way, or let ranks not talk to each other. *)
let works = lazy ((mpirun ~ranks:2 "ranks.exe" [ "cpus" ]).status = WEXITED 0)

let on_ranks f () =
  if not (Lazy.force works) then begin
    print_endline "skipped: mpirun starts no two ranks here";
    Alcotest.skip ()
  end;
  f ()

let contains text part =
  match Str.search_forward (Str.regexp_string part) text 0 with
  | _ -> true
  | exception Not_found -> false

let check_says (child : Child.t) part =
  if not (contains (child.output ^ child.errors) part) then
    failf "does not say %S: %s%s" part child.output child.errors

let check_ok child =
  Child.check_success child;
  check_says child "ok"

let answers ~ranks ~domains () =
  check_ok
    (mpirun ~env:[ ("MUSTER_DOMAINS", string_of_int domains) ] ~ranks "ranks.exe" [ "answers" ])

let alone () =
  let child = Child.run ~env:allowed ~limit:60. "ranks.exe" [ "answers" ] in
  check_ok child

let by_one_thread () =
  check_ok (mpirun ~env:[ ("MUSTER_MPI_THREADS", "funneled") ] ~ranks:2 "ranks.exe" [ "answers" ])

let checked () =
  check_ok (mpirun ~env:[ ("MUSTER_MPI_CHECK", "1") ] ~ranks:2 "ranks.exe" [ "answers" ])

let on_hosts_apart () =
  let child = Child.run ~env:allowed ~limit:60. "/bin/sh" [ "apart"; beside "ranks.exe"; "answers" ] in
  if child.status = WEXITED 77 then begin
    print_endline "skipped: no network namespaces, or not root";
    Alcotest.skip ()
  end;
  check_ok child

(* {2 CPUs} *)

let cpus () =
  let n = Muster.Cpu.available () in
  let program = quoted (beside "ranks.exe") in
  let command = "unset MUSTER_DOMAINS; exec mpirun --bind-to none -n 2 " ^ program ^ " cpus" in
  let child = Child.run ~env:allowed ~limit:60. "/bin/sh" [ "-c"; command ] in
  check_ok child;
  check_says child (Printf.sprintf "domains %d" (max 1 (n / 2)))

(* {2 Faults} *)

let check_fails (child : Child.t) = check_bool "fails" true (child.status <> WEXITED 0)

let ends_with parts case () =
  let child = mpirun ~ranks:3 "ranks.exe" [ case ] in
  check_fails child;
  List.iter (check_says child) parts

(* Ranks 0 and 1 call [first], rank 2 [last]. Each says so, and the first to end stops the others. *)
let ends_in_disagreement ~first ~last case () =
  let child = mpirun ~ranks:3 "ranks.exe" [ case ] in
  check_fails child;
  let sentence (rank, own, other, theirs) =
    Printf.sprintf "rank %d calls %s, and rank %d %s" rank own other theirs
  in
  let ranks = [ (0, first, 2, last); (1, first, 2, last); (2, last, 0, first) ] in
  let said = child.output ^ child.errors in
  if not (List.exists (fun rank -> contains said (sentence rank)) ranks) then
    failf "no rank says %s in:\n%s" (sentence (List.hd ranks)) said

let all_exit () =
  let child = mpirun ~ranks:3 "ranks.exe" [ "all exit" ] in
  check_bool "with their status" true (child.status = WEXITED 5);
  check_bool "as one" false (contains child.errors "Muster_mpi")

let a_late_message () =
  let child = mpirun ~ranks:2 "ranks.exe" [ "sends and ends" ] in
  check_ok child;
  check_bool "as lost" false (contains child.errors "nobody received")

let nobody_is_left () =
  let is_ours pid =
    match In_channel.with_open_bin (Printf.sprintf "/proc/%s/cmdline" pid) In_channel.input_all with
    | line -> contains line (beside "ranks.exe")
    | exception Sys_error _ -> false
  in
  not (Array.exists is_ours (Sys.readdir "/proc"))

let interrupted () =
  let child = mpirun ~interrupt:Sys.sigint ~ranks:3 "ranks.exe" [ "computes" ] in
  check_fails child;
  let until = Unix.gettimeofday () +. 10. in
  while Sys.file_exists "/proc/self" && (not (nobody_is_left ())) && Unix.gettimeofday () < until do
    Unix.sleepf 0.05
  done;
  if Sys.file_exists "/proc/self" then check_bool "all have ended" true (nobody_is_left ())

(* The program hangs, as MPI programs do: the ranks say where. *)
let told_where () =
  let command = "timeout 8 mpirun -n 2 " ^ quoted (beside "ranks.exe") ^ " 'waits for a message'" in
  let env = ("MUSTER_MPI_CHECK", "1") :: allowed in
  let child = Child.run ~env ~limit:30. "/bin/sh" [ "-c"; command ] in
  check_says child "rank 0 has waited 5 s in barrier (call 1)";
  check_says child "rank 1 has waited 5 s in Port.receive from rank 0"

let with_path f =
  let path = Filename.temp_file "muster" ".checkpoint" in
  Fun.protect ~finally:(fun () -> Sys.remove path) (fun () -> f path)

let begun (child : Child.t) = Scanf.sscanf child.output "begun %d" Fun.id

let checkpoint_nowhere () =
  let refuses path why =
    let child = mpirun ~ranks:2 "ranks.exe" [ "other jobs"; path ] in
    check_fails child;
    check_says child (Printf.sprintf "Sys_error(\"%s: %s\")" path why)
  in
  refuses "/dev/full" "No space left on device";
  refuses "/dev" "Is a directory"

let checkpoint () =
  with_path @@ fun path ->
  let run ranks stop_at = mpirun ~ranks "ranks.exe" [ "checkpoint"; path; string_of_int stop_at ] in
  check_fails (run 2 60);
  let again = run 3 (-1) in
  check_ok again;
  let left = begun again in
  if left < 1 || left > 50 then failf "%d jobs were begun again" left;
  let once_more = run 1 (-1) in
  check_ok once_more;
  check_int "nothing is left" 0 (begun once_more);
  (* The end of a record is missing. *)
  Unix.truncate path ((Unix.stat path).st_size - 3);
  let mended = run 2 (-1) in
  check_ok mended;
  check_int "one is left" 1 (begun mended);
  (* A crash of the machine has left zeros, or nothing but the file's begin. *)
  let size = (Unix.stat path).st_size in
  Unix.truncate path (size - 300);
  Unix.truncate path size;
  let mended = run 2 (-1) in
  check_ok mended;
  let left = begun mended in
  if left < 2 || left > 20 then failf "%d jobs were begun again" left;
  List.iter
    (fun case ->
      let other = mpirun ~ranks:2 "ranks.exe" [ case; path ] in
      check_fails other;
      check_says other "is one of other jobs or another build")
    [ "other jobs"; "another function" ];
  Unix.truncate path 10;
  let anew = run 2 (-1) in
  check_ok anew;
  check_int "all" 100 (begun anew)

(* {2 Examples} *)

let same_as_its_twin name () =
  let program = "../../examples/mpi/" ^ name ^ ".exe" in
  let twin = Child.run ~limit:60. program [ "--local" ] in
  Child.check_success twin;
  let check ranks =
    let child = mpirun ~ranks program [] in
    Child.check_success child;
    check_equal (Printf.sprintf "%d ranks" ranks) twin.output child.output
  in
  List.iter check [ 2; 3 ]

let case name f = Alcotest.test_case name `Quick (on_ranks f)

let () =
  let all_answers =
    List.concat_map
      (fun ranks ->
        List.map
          (fun domains ->
            case (Printf.sprintf "%d ranks, %d domains" ranks domains) (answers ~ranks ~domains))
          [ 1; 2; 3 ])
      [ 1; 2; 3; 4 ]
  in
  let fault parts name = case name (ends_with parts name) in
  let disagree ~first ~last name = case name (ends_in_disagreement ~first ~last name) in
  Alcotest.run "mpi"
    [
      ("the same answers", (Alcotest.test_case "without mpirun" `Quick alone) :: all_answers);
      ("hosts apart", [ case "4 ranks, 2 hosts" on_hosts_apart ]);
      ("threads", [ case "by one thread" by_one_thread; case "checked" checked ]);
      ("cpus", [ case "ranks share a machine's" cpus ]);
      ( "faults",
        [
          disagree ~first:"barrier (call 1)" ~last:"broadcast from 0 (call 1)" "different";
          fault [ "parallel_for 1..10 (call 1)"; "parallel_for 1..11 (call 1)" ] "different ranges";
          fault
            [ "parallel_reduce 1..10 by 1 (call 1)"; "parallel_reduce 1..10 by 2 (call 1)" ]
            "different grains";
          fault [ "Array.init of 10 on 0 (call 1)"; "Array.init of 10 on 1 (call 1)" ] "different places";
          disagree ~first:"barrier (call 2)" ~last:"run (its end) (call 2)" "ends early";
          disagree ~first:"barrier (call 1)" ~last:"run (its end) (call 1)" "exits alone";
          case "all exit" all_exit;
          fault [ "rank 2: uncaught exception Failure(\"alone\")" ] "raises alone";
          fault [ "rank 0: Failure(\"together\")" ] "all raise";
          fault [ "signal 9" ] "is killed";
          fault [ "messages of rank 2 that nobody received: 1" ] "sends in vain";
          case "a message that is received late" a_late_message;
          case "Ctrl-C at mpirun" interrupted;
          case "a rank that waits for a message" told_where;
          case "checkpoint" checkpoint;
          case "a checkpoint that cannot be written" checkpoint_nowhere;
        ] );
      ( "examples",
        List.map
          (fun name -> case name (same_as_its_twin name))
          [ "spectral_norm"; "nbody"; "life"; "closure" ] );
    ]
