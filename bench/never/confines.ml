let read file = In_channel.with_open_bin file In_channel.input_all
let lines file = String.split_on_char '\n' (read file)
let succeeds command = Sys.command (command ^ " >/dev/null 2>&1") = 0

(* ---- Affinity ---- *)

(* The last CPU of a list like [0-3,6]: the first is where most interrupts go. *)
let last_of list =
  let is_separator c = c = '-' || c = ',' in
  let rec from i = if i > 0 && not (is_separator list.[i - 1]) then from (i - 1) else i in
  let start = from (String.length list) in
  String.sub list start (String.length list - start)

let allowed () =
  List.find_map
    (fun line ->
      match String.split_on_char '\t' line with
      | [ "Cpus_allowed_list:"; list ] -> Some (last_of list)
      | _ -> None)
    (lines "/proc/self/status")

let pinned () =
  match allowed () with
  | exception Sys_error _ -> Error "no /proc/self/status"
  | None -> Error "no affinity mask in /proc/self/status"
  | Some cpu when succeeds (Printf.sprintf "taskset -c %s true" cpu) ->
    Ok (fun command -> "/usr/bin/env" :: "taskset" :: "-c" :: cpu :: command)
  | Some _ -> Error "no taskset"

(* ---- Control groups ---- *)

type version = V1 | V2

let period = 100_000

let limits cpus version =
  let quota = Float.to_int (cpus *. Float.of_int period) in
  match version with
  | V1 -> [ ("cpu.cfs_period_us", string_of_int period); ("cpu.cfs_quota_us", string_of_int quota) ]
  | V2 -> [ ("cpu.max", Printf.sprintf "%d %d" quota period) ]

let has_cpu list = List.mem "cpu" (String.split_on_char ',' list)

(* From a line of /proc/self/mountinfo: fields 4 and 5 are the root within the file system
   and where that is mounted, those after the dash its type, source and options. *)
let hierarchy line =
  let rec after_dash = function "-" :: rest -> rest | _ :: rest -> after_dash rest | [] -> [] in
  match String.split_on_char ' ' line with
  | _ :: _ :: _ :: _root :: place :: rest -> (
    match after_dash rest with
    | [ "cgroup"; _; options ] when has_cpu options -> Some (V1, place)
    | "cgroup2" :: _ -> Some (V2, place)
    | _ -> None)
  | _ -> None

(* The process's own group, from a line [N:CONTROLLERS:PATH] of /proc/self/cgroup. *)
let own_path version =
  let path line =
    match (version, String.split_on_char ':' line) with
    | V1, [ _; controllers; path ] when has_cpu controllers -> Some path
    | V2, [ "0"; ""; path ] -> Some path
    | _ -> None
  in
  Option.value ~default:"/" (List.find_map path (lines "/proc/self/cgroup"))

(* Below the own group; and below its parent and the root, since in version 2 only a group
   without processes may have groups with limits. *)
let parents (version, place) =
  let own = own_path version in
  let below path = if path = "/" then place else place ^ path in
  List.map
    (fun path -> (version, below path))
    (List.sort_uniq (Fun.flip String.compare) [ own; Filename.dirname own; "/" ])

let write file text =
  let output = Unix.openfile file [ O_WRONLY ] 0 in
  Fun.protect
    ~finally:(fun () -> Unix.close output)
    (fun () -> ignore (Unix.write_substring output text 0 (String.length text)))

let entering directory command =
  let procs = Filename.concat directory "cgroup.procs" in
  let script = Printf.sprintf "echo $$ > %s && exec \"$@\"" (Filename.quote procs) in
  "/bin/sh" :: "-c" :: script :: "sh" :: command

(* It is busy for a moment after its last process has ended. *)
let rec remove ?(tries = 50) directory =
  try Unix.rmdir directory
  with Unix.Unix_error (EBUSY, _, _) when tries > 0 ->
    Unix.sleepf 0.02;
    remove ~tries:(tries - 1) directory

let make cpus (version, parent) =
  let name = Printf.sprintf "muster-never-%d" (Unix.getpid ()) in
  let directory = Filename.concat parent name in
  let limit (file, value) = write (Filename.concat directory file) value in
  match Unix.mkdir directory 0o755 with
  | exception Unix.Unix_error _ -> None
  | () -> (
    let trial = List.map Filename.quote (entering directory [ "true" ]) in
    match List.iter limit (limits cpus version) with
    | () when succeeds (String.concat " " trial) -> Some directory
    | () | (exception Unix.Unix_error _) ->
      remove directory;
      None)

let with_quota cpus f =
  match List.filter_map hierarchy (lines "/proc/self/mountinfo") with
  | exception Sys_error _ -> Error "no /proc/self/mountinfo"
  | [] -> Error "no control groups"
  | hierarchies -> (
    match List.find_map (make cpus) (List.concat_map parents hierarchies) with
    | None -> Error "may make no control group with a quota"
    | Some directory ->
      Fun.protect ~finally:(fun () -> remove directory) (fun () -> Ok (f (entering directory))))
