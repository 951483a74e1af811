module Cpu = Muster_core.Cpu

let read path =
  match In_channel.with_open_bin path In_channel.input_all with
  | text -> Some (String.trim text)
  | exception Sys_error _ -> None

let words text = String.split_on_char ' ' text

(* The state comes after the name, which may have any characters. *)
let state text =
  match String.rindex_opt text ')' with
  | Some i when i + 2 < String.length text -> Some text.[i + 2]
  | _ -> None

let state_of pid = Option.bind (read (Printf.sprintf "/proc/%d/stat" pid)) state

(* One that has ended stays until its parent has asked how. *)
let is_there pid = not (List.mem (state_of pid) [ None; Some 'Z'; Some 'X' ])
let is_stopped pid = List.mem (state_of pid) [ Some 'T'; Some 't' ]

(* Field 15, of which the name that may have blanks is the second; in hundredths of a second. *)
let in_kernel pid =
  let of_stat text =
    let from = String.rindex text ')' + 2 in
    let fields = words (String.sub text from (String.length text - from)) in
    float_of_string (List.nth fields 12) /. 100.
  in
  match read (Printf.sprintf "/proc/%d/stat" pid) with
  | None -> None
  | Some text -> ( try Some (of_stat text) with Not_found | Failure _ | Invalid_argument _ -> None)

let wait_channel path =
  match read (path ^ "/wchan") with None | Some "0" -> "" | Some call -> call

let thread folder number =
  let path = Printf.sprintf "%s/%s" folder number in
  match (read (path ^ "/schedstat"), read (path ^ "/stat")) with
  | Some times, Some stat -> (
    match List.filter_map int_of_string_opt (words times) with
    | cpu :: queue :: _ ->
      let sleeps =
        match state stat with Some ('S' | 'D') -> Some (wait_channel path) | _ -> None
      in
      Option.map (fun thread -> { Account.thread; cpu; queue; sleeps }) (int_of_string_opt number)
    | _ -> None)
  | _ -> None

let threads pid =
  let folder = Printf.sprintf "/proc/%d/task" pid in
  match Sys.readdir folder with
  | numbers -> List.filter_map (thread folder) (Array.to_list numbers)
  | exception Sys_error _ -> []

(* {2 CPUs} *)

let in_range range =
  let all first last = List.init (last - first + 1) (fun i -> first + i) in
  try Scanf.sscanf range "%d-%d" all
  with _ -> Option.to_list (int_of_string_opt range)

let allowed pid =
  let list line = try Scanf.sscanf line "Cpus_allowed_list: %s" Option.some with _ -> None in
  let lines = String.split_on_char '\n' (Option.value (read ("/proc/" ^ pid ^ "/status")) ~default:"") in
  let ranges = Option.fold (List.find_map list lines) ~none:[] ~some:(String.split_on_char ',') in
  List.concat_map in_range ranges
[@@ocamlformat "disable"]

let first_cpu () = match allowed "self" with first :: _ -> first | [] -> 0

type room = { allowed : int list; affinity : int; cpus : float; stats : string list }

(* As the core reads its own; the stat file lies beside the one with the quota. *)
let room pid =
  let pid = string_of_int pid in
  let allowed = allowed pid in
  let affinity = if allowed = [] then Cpu.affinity () else List.length allowed in
  let read file = read (if file = "/proc/self/cgroup" then "/proc/" ^ pid ^ "/cgroup" else file) in
  let { Cpu.quota; readings; _ } =
    Cpu.report_of ~affinity ~runtime_limit:max_int ~setting:None ~read
  in
  let quota = Option.bind quota (fun { Cpu.cpus; _ } -> cpus) in
  let stat { Cpu.file; _ } = Filename.concat (Filename.dirname file) "cpu.stat" in
  {
    allowed;
    affinity;
    cpus = Float.min (float affinity) (Option.value quota ~default:infinity);
    stats = List.map stat readings;
  }

(* Its unit depends on the version of cgroups. *)
let throttled { stats; _ } =
  let field line =
    match words line with
    | [ "throttled_usec"; n ] -> Option.map (fun n -> n * 1000) (int_of_string_opt n)
    | [ "throttled_time"; n ] -> int_of_string_opt n
    | _ -> None
  in
  let in_file file =
    Option.bind (read file) (fun text -> List.find_map field (String.split_on_char '\n' text))
  in
  match List.filter_map in_file stats with
  | [] -> None
  | all -> Some (List.fold_left Int.max 0 all)
