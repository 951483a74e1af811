(* The number of CPUs is the least of three: the affinity mask, which the runtime reads; the domains
   that the runtime can give; and the tightest quota of the cgroups around the process. A quota is
   so many microseconds of CPU time per period. (64 domains with a quota of 2 CPUs run for a moment,
   then none until the period ends, and every collection waits for it.)

   Where a quota stands (cgroups(7)): [/proc/self/cgroup] has the process's path in each hierarchy,
   [/proc/self/mountinfo] where a hierarchy is mounted and which of its directories (the mount's
   root) is seen there. v2 has one hierarchy and [cpu.max]; v1 has one for the controller [cpu],
   perhaps with others, and two files. A machine may have both. *)

type reading = { file : string; cpus : float option }
type override = Unset | Domains of int | Ignored of string

type report = {
  affinity : int;
  readings : reading list;
  quota : reading option;
  override : override;
  runtime_limit : int;
  available : int;
}

type version = V1 | V2
type mount = { version : version; root : string; point : string }

let words = String.split_on_char
let lines text = words '\n' text
let has_cpu controllers = List.mem "cpu" (words ',' controllers)

(* {2 Which cgroup} *)

(* ["4:cpu,cpuacct:/path"] in v1, ["0::/path"] in v2. *)
let membership line =
  match words ':' line with
  | "0" :: "" :: path -> Some (V2, String.concat ":" path)
  | _ :: controllers :: path when has_cpu controllers -> Some (V1, String.concat ":" path)
  | _ -> None

(* mountinfo writes white space and backslashes in paths as [\] and three octal digits. *)
let unescape path =
  let decode part =
    let n = String.length part in
    match int_of_string_opt ("0o" ^ String.sub part 0 (Int.min n 3)) with
    | Some code when code < 256 && n >= 3 ->
      String.make 1 (Char.chr code) ^ String.sub part 3 (n - 3)
    | _ -> "\\" ^ part
  in
  match words '\\' path with
  | [] -> path
  | plain :: escaped -> String.concat "" (plain :: List.map decode escaped)

let rec after_dash = function [] -> [] | "-" :: rest -> rest | _ :: rest -> after_dash rest

(* [id parent device root point options optional... - type source options]: proc(5). *)
let mount line =
  match words ' ' line with
  | _ :: _ :: _ :: root :: point :: rest -> (
    let mount version = Some { version; root = unescape root; point = unescape point } in
    match after_dash rest with
    | "cgroup2" :: _ -> mount V2
    | [ "cgroup"; _; options ] when has_cpu options -> mount V1
    | _ -> None)
  | _ -> None

(* The part of [path] below [root], both as the process's cgroup namespace shows them: a
   directory above the namespace's own begins with ["/.."]. *)
let below ~root path =
  let root = if root = "/" then "" else root in
  if path = root then Some ""
  else if String.starts_with ~prefix:(root ^ "/") path then
    let n = String.length root in
    let rest = String.sub path n (String.length path - n) in
    if String.starts_with ~prefix:"/.." rest then None else Some rest
  else None

(* [rest] and the directories above it, up to the mount's root. *)
let rec upwards rest =
  match String.rindex_opt rest '/' with
  | None -> [ "" ]
  | Some 0 when rest = "/" -> [ "" ]
  | Some i -> rest :: upwards (String.sub rest 0 i)

(* Mounts that do not show the process's own cgroup may still show one around it (a root
   ["/../.."] says so): their own root is all that can be known of it. *)
let directories mounts (version, path) =
  let mounts = List.filter (fun m -> m.version = version) mounts in
  let under m =
    let chain rest = List.map (fun part -> m.point ^ part) (upwards rest) in
    Option.map chain (below ~root:m.root path)
  in
  match List.filter_map under mounts with
  | [] -> List.map (fun m -> (version, m.point)) mounts
  | shown -> List.map (fun directory -> (version, directory)) (List.concat shown)

(* {2 Its quota} *)

let ratio quota period =
  match (int_of_string_opt quota, int_of_string_opt period) with
  | Some quota, Some period when quota > 0 && period > 0 ->
    Some (float_of_int quota /. float_of_int period)
  | _ -> None

(* v2: ["150000 100000"], or ["max 100000"]. v1: the two in a file each, or quota -1. *)
let reading read (version, directory) =
  let text name = Option.map String.trim (read (directory ^ name)) in
  let quota_file = match version with V1 -> "/cpu.cfs_quota_us" | V2 -> "/cpu.max" in
  let cpus quota =
    match (version, words ' ' quota) with
    | V1, [ quota ] -> Option.bind (text "/cpu.cfs_period_us") (ratio quota)
    | V2, [ quota; period ] -> ratio quota period
    | _ -> None
  in
  Option.map (fun quota -> { file = directory ^ quota_file; cpus = cpus quota }) (text quota_file)

let readings read =
  match (read "/proc/self/cgroup", read "/proc/self/mountinfo") with
  | Some groups, Some mounts ->
    let mounts = List.filter_map mount (lines mounts) in
    let groups = List.filter_map membership (lines groups) in
    List.filter_map (reading read) (List.concat_map (directories mounts) groups)
  | _ -> []

let tightest readings =
  let grant { cpus; _ } = Option.value cpus ~default:infinity in
  let tighter best reading = if grant reading < grant best then reading else best in
  let bound = List.filter (fun { cpus; _ } -> cpus <> None) readings in
  match bound with [] -> None | first :: rest -> Some (List.fold_left tighter first rest)

(* Three quarters of a CPU are worth a worker, which then stands still for a part of every period.
   *)
let whole cpus = Float.floor (cpus +. 0.75)

(* {2 The sum} *)

let override_of = function
  | None -> Unset
  | Some text -> (
    match int_of_string_opt (String.trim text) with
    | Some n when n >= 1 -> Domains n
    | _ -> Ignored text)

let report_of ~affinity ~runtime_limit ~setting ~read =
  let readings = readings read and override = override_of setting in
  let quota = tightest readings in
  let usable =
    match (override, quota) with
    | Domains n, _ -> n
    | _, Some { cpus = Some cpus; _ } ->
      int_of_float (Float.min (float_of_int affinity) (whole cpus))
    | _ -> affinity
  in
  let available = Int.max 1 (Int.min usable runtime_limit) in
  { affinity; readings; quota; override; runtime_limit; available }

(* Files in /proc do not tell their size, and reading one may fail half-way. *)
let read file =
  match In_channel.with_open_bin file In_channel.input_all with
  | text -> Some text
  | exception Sys_error _ -> None

let affinity = Domain.recommended_domain_count
let setting () = Sys.getenv_opt "MUSTER_DOMAINS"
let override () = override_of (setting ())

let report () =
  let affinity = affinity () and runtime_limit = Machine.runtime_limit () in
  report_of ~affinity ~runtime_limit ~setting:(setting ()) ~read

let available () = (report ()).available

let available_now ~before =
  let { readings; available; _ } = report () and groups = "/proc/self/cgroup" in
  let is_hidden () = Sys.file_exists groups && read groups = None in
  if readings = [] && is_hidden () then Int.min before available else available

(* proc(5): the first line has the time of all CPUs, in ticks of 10 ms. A CPU whose task waits for
   input or output (iowait) has nothing to run either. *)
let idle () =
  match In_channel.with_open_bin "/proc/stat" In_channel.input_line with
  | exception Sys_error _ | None -> None
  | Some line ->
    Scanf.sscanf_opt line "cpu %_d %_d %_d %d %d" (fun idle iowait -> (idle + iowait) * 10_000_000)
