(* Each planted problem several times: is its cause the first that is named? A CPU that other
   programs use is named where it is so, and is not what the test is about.

   corpus.exe [REPEATS [NAME...]] *)

open Muster_cli

let planted = Filename.concat (Filename.dirname Sys.executable_name) "planted.exe"

(* {2 A quota}

   Half a CPU, for a program whose shell has gone into a cgroup made here: root may do that. *)

let write file text = Out_channel.with_open_bin file (fun oc -> output_string oc text)

let groups =
  [
    ("/sys/fs/cgroup/cpu/muster_why", [ ("cpu.cfs_quota_us", "50000") ]);
    ("/sys/fs/cgroup/muster_why", [ ("cpu.max", "50000 100000") ]);
  ]

let make_group () =
  let make (folder, settings) =
    try
      if not (Sys.file_exists folder) then Sys.mkdir folder 0o755;
      List.iter (fun (name, text) -> write (Filename.concat folder name) text) settings;
      Some folder
    with Sys_error _ -> None
  in
  List.find_map make groups

let within folder program =
  [ "sh"; "-c"; "echo $$ > " ^ folder ^ "/cgroup.procs && exec " ^ Filename.quote_command "env" program ]

(* {2 What is expected} *)

type run = Plain | Span | Quota | Beside

(* Those that need the second run are last. *)
let expected =
  [
    ("healthy", Plain, None);
    ("sequential", Plain, Some "too little parallelism");
    ("prologue", Plain, Some "too little parallelism");
    ("spine", Plain, Some "too little parallelism");
    ("tail", Plain, Some "too little parallelism");
    ("spawned", Plain, None);
    ("outside", Plain, Some "a wait outside all tasks");
    ("window", Plain, Some "waiting for another task");
    ("faults", Plain, Some "the kernel");
    ("tiny", Plain, Some "tasks too small");
    ("posted", Plain, Some "tasks too small");
    ("straggler", Plain, Some "imbalance");
    ("first", Plain, Some "imbalance");
    ("left", Plain, Some "imbalance");
    ("right", Plain, Some "imbalance");
    ("rounds", Plain, Some "imbalance");
    ("domainslib", Plain, Some "imbalance");
    ("team", Plain, Some "imbalance");
    ("jobs", Plain, Some "imbalance");
    ("one-worker", Plain, Some "waiting for a worker");
    ("broadcasts", Plain, Some "tasks too small");
    ("digest", Plain, Some "collections");
    ("one-key", Plain, Some "waiting for another task");
    ("rendezvous", Plain, Some "waiting for a channel");
    ("allocation", Plain, Some "collections");
    ("forced", Plain, Some "collections");
    ("domains", Plain, Some "more workers than CPUs");
    ("crowd", Plain, None);
    ("trees", Plain, None);
    ("trees", Beside, None);
    ("lock", Plain, Some "waiting for a lock");
    ("hot", Plain, Some "waiting for a lock");
    ("stdlib-lock", Plain, Some "waiting for a lock");
    ("channel", Plain, Some "waiting for a channel");
    ("blocking", Plain, Some "a blocking call in a task");
    ("calls", Plain, Some "waiting for blocking calls");
    ("spectral-norm", Plain, None);
    ("nbody-locally", Span, None);
    ("nbody-in-place", Span, Some "memory");
    ("sharing", Span, Some "memory");
    ("key", Span, Some "memory");
    ("memory", Span, Some "memory");
    ("healthy", Span, None);
    ("healthy", Quota, Some "a CPU quota");
  ]

(* What the machine does to a program. *)
let others = [ "no CPU"; "slower CPUs" ]
let is_others cause = List.exists (fun prefix -> String.starts_with ~prefix cause) others

(* The CPU time of each of [n] processes that run this program at the same time. *)
let seconds name ~workers n =
  let domains = Printf.sprintf "MUSTER_DOMAINS=%d" workers in
  let settings = Array.append [| domains |] (Unix.environment ()) in
  let start () =
    Unix.(create_process_env planted [| planted; name |] settings stdin stdout stderr)
  in
  let since = Unix.times () in
  List.iter (fun pid -> ignore (Unix.waitpid [] pid)) (List.init n (fun _ -> start ()));
  ((Unix.times ()).tms_cutime -. since.tms_cutime) /. float n

let is_little_more than time = time < than *. 1.3

(* Two processes of one worker each share nothing but the machine. Some serve the memory of two CPUs
   as quickly as that of one, or hand a cache line over quickly: then there is nothing to be found. *)
let memory_is_enough () =
  is_little_more (seconds "memory" ~workers:1 1) (seconds "memory" ~workers:1 2)

(* The least of three, as the CPUs of a virtual machine may be slow for a while. *)
let lines_are_cheap name =
  let least workers =
    List.fold_left Float.min infinity (List.init 3 (fun _ -> seconds name ~workers 1))
  in
  is_little_more (least 1) (least 2)

(* Two processes that compute. *)
let beside_others how f =
  let neighbour _ = Unix.(create_process planted [| planted; "healthy"; "1000" |] stdin stdout stderr) in
  let neighbours = if how = Beside then List.init 2 neighbour else [] in
  let stop pid =
    Unix.kill pid Sys.sigkill;
    ignore (Unix.waitpid [] pid)
  in
  Fun.protect ~finally:(fun () -> List.iter stop neighbours) f

let cause name how =
  beside_others how @@ fun () ->
  let program = [ planted; name ] in
  let started = match (how, make_group ()) with Quota, Some at -> within at program | _ -> program in
  match Session.run ~span:(how = Span) started with
  | Error { why; _ } -> failwith why
  | Ok run ->
    let alone = if how = Span then Result.to_option (Session.run ~alone:Session.Nothing program) else None in
    let findings = Rules.findings (Why.run_of run ~alone) in
    let is_own (it : Rules.finding) = not (is_others it.cause) in
    match List.find_opt is_own findings with
    | Some it -> Some it.cause
    | None -> Option.map (fun (it : Rules.finding) -> it.cause) (List.nth_opt findings 0)
[@@ocamlformat "disable"]

let is_right expected found =
  match (expected, found) with
  | None, None -> true
  | None, Some cause -> is_others cause
  | Some prefix, Some cause -> String.starts_with ~prefix cause
  | _ -> false

let title name = function Plain -> name | Span -> name ^ " --span" | Quota -> name ^ ", half a CPU"
  | Beside -> name ^ ", beside others"

let not_tried name how =
  if how = Quota && make_group () = None then Some "no cgroup can be made here"
  else if name = "memory" && memory_is_enough () then Some "the memory is quick enough for all CPUs"
  else if name = "nbody-in-place" && lines_are_cheap name then
    Some "two workers take little more CPU time than one"
  else None

let play ~repeats (name, how, expected) =
  match not_tried name how with
  | Some why ->
    Printf.printf "%-24s not tried: %s\n%!" (title name how) why;
    true
  | None ->
    let found = List.init repeats (fun _ -> cause name how) in
    let right = List.length (List.filter (is_right expected) found) in
    let told = List.map (Option.value ~default:"nothing") found in
    Printf.printf "%-24s %d of %d: %s\n%!" (title name how) right repeats
      (String.concat ", " (List.sort_uniq String.compare told));
    right = repeats

let () =
  let repeats = try int_of_string Sys.argv.(1) with _ -> 5 in
  let wanted = List.filteri (fun i _ -> i > 1) (Array.to_list Sys.argv) in
  let is_wanted (name, _, _) = wanted = [] || List.mem name wanted in
  if Sys.getenv_opt "MUSTER_GOVERNOR" = None then Unix.putenv "MUSTER_GOVERNOR" "off";
  let all = List.filter is_wanted expected in
  let right = List.length (List.filter (play ~repeats) all) in
  List.iter (fun (folder, _) -> try Sys.rmdir folder with Sys_error _ -> ()) groups;
  Printf.printf "%d passed, %d failed\n" right (List.length all - right);
  exit (if List.length all - right > 1 then 1 else 0)
