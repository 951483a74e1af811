include Figure

let is_used s = s.tasks + s.forks + s.regions > 0

(* {2 The difference of two} *)

let found_or none is_it list = Option.value (List.find_opt is_it list) ~default:none

let since_worker before (now : worker) =
  let none = { now with ran = 0; stole = 0; busy_seconds = 0.; idle_seconds = 0. } in
  let old = found_or none (fun (old : worker) -> old.worker = now.worker) before in
  {
    now with
    ran = now.ran - old.ran;
    stole = now.stole - old.stole;
    busy_seconds = now.busy_seconds -. old.busy_seconds;
    idle_seconds = now.idle_seconds -. old.idle_seconds;
  }

let since_wait before now =
  let none = { now with times = 0; total_seconds = 0. } in
  let old = found_or none (fun old -> old.call = now.call) before in
  { now with times = now.times - old.times; total_seconds = now.total_seconds -. old.total_seconds }

let diff ~since now =
  let seconds = now.seconds -. since.seconds in
  {
    now with
    seconds;
    tasks = now.tasks - since.tasks;
    forks = now.forks - since.forks;
    steals = now.steals - since.steals;
    parks = now.parks - since.parks;
    regions = now.regions - since.regions;
    each_worker = List.map (since_worker since.each_worker) now.each_worker;
    domains_started = now.domains_started - since.domains_started;
    domains_ended = now.domains_ended - since.domains_ended;
    waits = now.waits - since.waits;
    waited_seconds = now.waited_seconds -. since.waited_seconds;
    task_waits =
      List.map (since_wait since.task_waits) now.task_waits
      |> List.filter (fun wait -> wait.times > 0);
    minor_collections = now.minor_collections - since.minor_collections;
    minor_gc_seconds = now.minor_gc_seconds -. since.minor_gc_seconds;
    decisions = List.filter (fun decision -> decision.seconds_ago < seconds) now.decisions;
  }

(* {2 A text} *)

let plural n noun = Printf.sprintf "%d %s%s" n noun (if n = 1 then "" else "s")

let line ppf name format = Format.fprintf ppf ("@,%-12s " ^^ format) name

(* The name stands on the first line. *)
let lines ppf name tell all = List.iteri (fun i it -> tell ppf (if i = 0 then name else "") it) all

let worker ppf { worker; is_caller; ran; stole; busy_seconds; idle_seconds } =
  line ppf (Printf.sprintf "worker %d" worker) "busy %.3f s, idle %.3f s; %d run, %d stolen%s"
    busy_seconds idle_seconds ran stole
    (if is_caller then " (a caller)" else "")

let wait ppf name { call; times; total_seconds } =
  line ppf name "%s: %s, %.3f s" call (plural times "time") total_seconds

let decision ppf name { seconds_ago; what; why } =
  line ppf name "%.1f s ago: %s: %s" seconds_ago what why

let pp_stats ppf s =
  Format.fprintf ppf "@[<v>%-12s %s, %.3f s" "pool" (plural s.size "worker") s.seconds;
  line ppf "tasks" "%d run, %d offered, %d stolen; %s of Team" s.tasks s.forks s.steals
    (plural s.regions "call");
  List.iter (worker ppf) s.each_worker;
  lines ppf "waits" wait s.task_waits;
  line ppf "CPUs" "%d, of which %d lent; %s for one, %.3f s" s.cpus s.cpus_yielded
    (plural s.waits "wait") s.waited_seconds;
  line ppf "domains" "%d started, %d ended; %s" s.domains_started s.domains_ended
    (plural s.parks "sleep");
  line ppf "collections" "%d minor, %.3f s of copying" s.minor_collections s.minor_gc_seconds;
  lines ppf "decisions" decision s.decisions;
  Format.fprintf ppf "@]"
