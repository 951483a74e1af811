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

(* The stat file lies beside the one with the quota; its unit depends on the version of cgroups. *)
let throttled () =
  let field line =
    match words line with
    | [ "throttled_usec"; n ] -> Option.map (fun n -> n * 1000) (int_of_string_opt n)
    | [ "throttled_time"; n ] -> int_of_string_opt n
    | _ -> None
  in
  let of_reading { Cpu.file; _ } =
    match read (Filename.concat (Filename.dirname file) "cpu.stat") with
    | None -> None
    | Some text -> List.find_map field (String.split_on_char '\n' text)
  in
  match List.filter_map of_reading (Cpu.report ()).readings with
  | [] -> None
  | all -> Some (List.fold_left Int.max 0 all)

let first_cpu () =
  let number line = try Scanf.sscanf line "Cpus_allowed_list: %d" Option.some with _ -> None in
  let lines = String.split_on_char '\n' (Option.value (read "/proc/self/status") ~default:"") in
  string_of_int (Option.value (List.find_map number lines) ~default:0)

let cpus () =
  let { Cpu.affinity; quota; _ } = Cpu.report () in
  let quota = Option.bind quota (fun { Cpu.cpus; _ } -> cpus) in
  Float.min (float affinity) (Option.value quota ~default:infinity)
