(* [Cpu] on machines that are given as a list of files and a setting. *)

open Muster_core

let report ?(affinity = 8) ?(runtime_limit = 128) ?setting files =
  Cpu.report_of ~affinity ~runtime_limit ~setting ~read:(fun name -> List.assoc_opt name files)

let check_int = Alcotest.(check int)

(* Every case is a machine of 8 CPUs by affinity. *)
let check_quota what files ~quota ~available =
  let report = report files in
  let found = Option.bind report.quota (fun reading -> reading.cpus) in
  Alcotest.(check (option (float 1e-9))) (what ^ ": quota") quota found;
  check_int (what ^ ": available") available report.available

(* {2 Machines} *)

let mount_v2 ?(root = "/") point =
  Printf.sprintf "41 31 0:38 %s %s rw shared:4 master:1 - cgroup2 cgroup2 rw\n" root point

let mount_v1 ?(root = "/") ?(controllers = "cpu,cpuacct") point =
  Printf.sprintf "32 31 0:29 %s %s rw - cgroup cgroup rw,%s\n" root point controllers

let others =
  "23 1 254:0 / / rw,relatime - ext4 /dev/root rw\n\
   31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"

let proc ~groups ~mounts =
  let mounts = others ^ String.concat "" mounts in
  [ ("/proc/self/cgroup", groups); ("/proc/self/mountinfo", mounts) ]

let v2 ?(group = "/") text =
  ("/sys/fs/cgroup/cpu.max", text)
  :: proc ~groups:("0::" ^ group ^ "\n") ~mounts:[ mount_v2 "/sys/fs/cgroup" ]

let v1_files directory quota period =
  [ (directory ^ "/cpu.cfs_quota_us", quota); (directory ^ "/cpu.cfs_period_us", period) ]

(* The hierarchy of another controller is not looked at, whatever it holds. *)
let v1 =
  let groups = "5:memory:/m\n4:cpu,cpuacct:/a/b\n" in
  let mounts = [ mount_v1 ~controllers:"memory" "/m"; mount_v1 "/cpu" ] in
  proc ~groups ~mounts @ v1_files "/m/a/b" "1000" "1000" @ v1_files "/cpu/m" "1000" "1000"

(* {2 Cases} *)

let one_hierarchy () =
  check_quota "v2" (v2 "200000 100000\n") ~quota:(Some 2.) ~available:2;
  check_quota "v2, max" (v2 "max 100000\n") ~quota:None ~available:8;
  check_quota "v2, ample" (v2 "1600000 100000\n") ~quota:(Some 16.) ~available:8;
  let v1 quota period = v1 @ v1_files "/cpu/a/b" quota period in
  check_quota "v1" (v1 "300000\n" "100000\n") ~quota:(Some 3.) ~available:3;
  check_quota "v1, none" (v1 "-1\n" "100000\n") ~quota:None ~available:8

let fractions () =
  let check text quota available =
    check_quota text (v2 (text ^ " 100000")) ~quota:(Some quota) ~available
  in
  check "1000" 0.01 1;
  check "50000" 0.5 1;
  check "124000" 1.24 1;
  check "125000" 1.25 2;
  check "150000" 1.5 2;
  check "200000" 2. 2;
  check "220000" 2.2 2;
  check "225000" 2.25 3

(* The controller cpu is in v1, so that the v2 mount has no cpu.max; and the reverse. *)
let hybrid () =
  let machine =
    proc ~groups:"1:cpu:/\n0::/\n"
      ~mounts:[ mount_v1 ~controllers:"cpu" "/cg/cpu"; mount_v2 "/cg/unified" ]
  in
  check_quota "in v1" (v1_files "/cg/cpu" "100000" "50000" @ machine) ~quota:(Some 2.) ~available:2;
  check_quota "in v2"
    (("/cg/unified/cpu.max", "90000 30000") :: machine)
    ~quota:(Some 3.) ~available:3

let nested () =
  let machine quotas =
    List.map (fun (group, text) -> ("/sys/fs/cgroup" ^ group ^ "/cpu.max", text)) quotas
    @ proc ~groups:"0::/a/b/c\n" ~mounts:[ mount_v2 "/sys/fs/cgroup" ]
  in
  let check what quotas quota =
    check_quota what (machine quotas) ~quota:(Some quota) ~available:(int_of_float quota)
  in
  check "outer" [ ("/a", "200000 100000"); ("/a/b/c", "400000 100000") ] 2.;
  check "inner" [ ("/a", "400000 100000"); ("/a/b/c", "200000 100000") ] 2.;
  check "middle" [ ("/a/b", "300000 100000"); ("/a/b/c", "max 100000") ] 3.;
  let report = report (machine [ ("/a", "max 1"); ("/a/b/c", "200000 100000") ]) in
  Alcotest.(check (list string))
    "all readings, inside out"
    [ "/sys/fs/cgroup/a/b/c/cpu.max"; "/sys/fs/cgroup/a/cpu.max" ]
    (List.map (fun (reading : Cpu.reading) -> reading.file) report.readings);
  let outermost = v1 @ v1_files "/cpu" "200000" "100000" in
  check_quota "v1, outermost" outermost ~quota:(Some 2.) ~available:2

(* A container: its own cgroup is the root of the mount that it sees. *)
let rooted_mounts () =
  let machine root path files =
    files @ proc ~groups:("0::" ^ path ^ "\n") ~mounts:[ mount_v2 ~root "/sys/fs/cgroup" ]
  in
  let two directory = [ ("/sys/fs/cgroup" ^ directory ^ "/cpu.max", "200000 100000") ] in
  let check what root path directory =
    check_quota what (machine root path (two directory)) ~quota:(Some 2.) ~available:2
  in
  check "path is the root" "/docker/1f" "/docker/1f" "";
  check "path below the root" "/docker/1f" "/docker/1f/job" "/job";
  check "namespaced" "/" "/" "";
  check "namespaced, path below" "/" "/job" "/job";
  check "mounted outside the namespace" "/../.." "/" "";
  check "both outside the namespace" "/.." "/../job" "/job";
  check "moved out of the namespace" "/" "/../other" "";
  check "a root whose name is a prefix" "/docker/1" "/docker/1f" "";
  let above = [ ("/sys/fs/cgroup/../other/cpu.max", "1 1") ] in
  check_quota "above the mount" (machine "/" "/../other" above) ~quota:None ~available:8

(* Of two mounts of one hierarchy, one does not show this process: it says nothing. *)
let foreign_mount () =
  let check root =
    let mounts = [ mount_v2 ~root "/t"; mount_v2 "/m" ] in
    let files = [ ("/t/cpu.max", "100000 100000"); ("/m/mine/cpu.max", "3000 1000") ] in
    check_quota root (files @ proc ~groups:"0::/mine\n" ~mounts) ~quota:(Some 3.) ~available:3
  in
  check "/theirs";
  check "/min"

let odd_names () =
  let machine directory point path =
    (directory ^ "/cpu.max", "200000 100000")
    :: proc ~groups:("0::" ^ path ^ "\n") ~mounts:[ mount_v2 point ]
  in
  let check what machine = check_quota what machine ~quota:(Some 2.) ~available:2 in
  check "a space" (machine "/c g" "/c\\040g" "/");
  check "a backslash" (machine "/c\\g" "/c\\134g" "/");
  check "a colon" (machine "/cg/a:b" "/cg" "/a:b");
  check "an escape that is none" (machine "/c\\9zg" "/c\\9zg" "/")

let garbage () =
  let nothing what files = check_quota what files ~quota:None ~available:8 in
  let texts = [ ""; "\n"; "max"; "0 0"; "100000 0"; "-5 7"; "a b"; "1 2 3"; "200000" ] in
  List.iter (fun text -> nothing ("cpu.max " ^ text) (v2 text)) texts;
  nothing "v1 period 0" (v1 @ v1_files "/cpu/a/b" "100" "0");
  nothing "v1 quota" (v1 @ v1_files "/cpu/a/b" "x" "100000");
  nothing "v1 without a period" (("/cpu/a/b/cpu.cfs_quota_us", "100000") :: v1);
  let cpu_max = ("/sys/fs/cgroup/cpu.max", "100000 100000") in
  let line groups mounts =
    [ cpu_max; ("/proc/self/cgroup", groups); ("/proc/self/mountinfo", mounts) ]
  in
  nothing "no hierarchy" (line "" (mount_v2 "/sys/fs/cgroup"));
  nothing "no mount" (line "0::/\n" "");
  nothing "noise" (line "::\n:\nx\n0::\n" "- - - - - - -\ncgroup2\n1 2 3 4 5 6 -\n\n")

let missing () =
  check_quota "no /proc" [] ~quota:None ~available:8;
  check_quota "only cgroup" [ ("/proc/self/cgroup", "0::/\n") ] ~quota:None ~available:8;
  let mounts = [ mount_v2 "/sys/fs/cgroup" ] in
  check_quota "no cpu.max" (proc ~groups:"0::/\n" ~mounts) ~quota:None ~available:8

let override () =
  let check ?runtime_limit value expected override =
    let report = report ?runtime_limit ~setting:value (v2 "200000 100000") in
    check_int ("MUSTER_DOMAINS=" ^ value) expected report.available;
    Alcotest.(check bool) ("how it was taken: " ^ value) true (report.override = override)
  in
  check "3" 3 (Domains 3);
  check " 5 " 5 (Domains 5);
  check "999" 128 (Domains 999);
  check "999" 4 (Domains 999) ~runtime_limit:4;
  check "" 2 (Ignored "");
  List.iter (fun value -> check value 2 (Ignored value)) [ "0"; "-1"; "abc"; "2.5" ]

(* OCaml 5.2 cannot be told. *)
let limit_of n = if (Sys.ocaml_release.major, Sys.ocaml_release.minor) >= (5, 3) then n else 128

(* Of a child with these variables. *)
let limit_in env =
  let is_other setting =
    not (List.mem (List.hd (String.split_on_char '=' setting)) [ "OCAMLRUNPARAM"; "CAMLRUNPARAM" ])
  in
  let kept = List.filter is_other (Array.to_list (Unix.environment ())) in
  let arguments = [| Sys.executable_name; "limit" |] in
  let child =
    Unix.open_process_args_full Sys.executable_name arguments (Array.of_list (env @ kept))
  in
  let output, _, _ = child in
  let limit = int_of_string (In_channel.input_all output) in
  ignore (Unix.close_process_full child);
  limit

let runtime_limit () =
  let check env expected =
    check_int (String.concat " " env) (limit_of expected) (limit_in env)
  in
  check [] 128;
  check [ "OCAMLRUNPARAM=" ] 128;
  check [ "OCAMLRUNPARAM=b,s=1M" ] 128;
  check [ "OCAMLRUNPARAM=d=4" ] 4;
  check [ "OCAMLRUNPARAM=v=0,d=7,b" ] 7;
  check [ "OCAMLRUNPARAM=d=3,d=5" ] 5;
  check [ "OCAMLRUNPARAM=d=1k" ] 1024;
  check [ "OCAMLRUNPARAM=d=0x10" ] 16;
  check [ "CAMLRUNPARAM=d=6" ] 6;
  check [ "CAMLRUNPARAM=d=6"; "OCAMLRUNPARAM=d=5" ] 5

let this_machine () =
  let report = Cpu.report () in
  check_int "affinity" (Domain.recommended_domain_count ()) report.affinity;
  check_int "available" (Cpu.available ()) report.available;
  check_int "limit" (Machine.runtime_limit ()) report.runtime_limit;
  Alcotest.(check bool) "at least 1" true (report.available >= 1)

(* Well above what it costs (60 us), for machines that are busy. *)
let cost () =
  let calls = 200 in
  let start = Sys.time () in
  for _ = 1 to calls do
    ignore (Sys.opaque_identity (Cpu.available ()))
  done;
  let each = (Sys.time () -. start) /. float_of_int calls *. 1e6 in
  Alcotest.(check bool) (Printf.sprintf "%.0f us a call" each) true (each < 500.)

let case name run = Alcotest.test_case name `Quick run

(* The first pool of the program is made here. *)
let first_look () =
  check_int "CPUs known to a program without pools" 0 (Cpus.affinity ());
  ignore (Pool.default ());
  check_int "CPUs known to the first pool" (Cpu.affinity ()) (Cpus.affinity ());
  check_int "and of use to it" (Cpu.available ()) (Cpus.usable ());
  let tells_change (d : Muster_core.Slot.decision) = String.ends_with ~suffix:"before" d.why in
  check_int "changes that it tells" 0
    (List.length (List.filter tells_change (Atomic.get Load.of_all)))

let run () =
  Alcotest.run "cpu"
    [
      ( "quota",
        [
          case "a quota of one hierarchy, v2 or v1" one_hierarchy;
          case "a quota of a fraction of a CPU" fractions;
          case "a quota where v1 and v2 are both mounted" hybrid;
          case "the smallest quota of nested groups" nested;
          case "mounts whose root is a group" rooted_mounts;
          case "a mount of another group is left out" foreign_mount;
          case "paths with odd characters" odd_names;
          case "files that hold no number" garbage;
          case "files that are missing" missing;
        ] );
      ( "environment",
        [
          case "MUSTER_DOMAINS overrides the number" override;
          case "the runtime's limit in OCAMLRUNPARAM counts" runtime_limit;
        ] );
      ("start", [ case "the CPUs are looked at when the first pool is made" first_look ]);
      ("machine", [ case "this machine's report agrees with the other functions"
        this_machine; case "asking for the number is cheap" cost ]);
    ]

let () =
  match Sys.argv with
  | [| _; "limit" |] -> print_int (Machine.runtime_limit ())
  | _ -> run ()
