type peer = { program : string; experiment : string; name : string }
type t = peer list

let none = []

(* Some peers crawl when they have more threads than the machine gives them cores. *)
let patience = 60.

(* The programs print at the end, so that the first byte says that all is done. *)
let stop_if_late input =
  match Unix.select [ Unix.descr_of_in_channel input ] [] [] patience with
  | [], _, _ -> Unix.kill (Unix.process_in_pid input) Sys.sigkill
  | _ -> ()

let lines program args =
  let input = Unix.open_process_args_in program (Array.of_list (program :: args)) in
  stop_if_late input;
  let output = In_channel.input_all input in
  match Unix.close_process_in input with
  | WEXITED 0 -> String.split_on_char '\n' (String.trim output)
  | WEXITED _ | WSIGNALED _ | WSTOPPED _ ->
    let call = String.concat " " (program :: args) in
    failwith (Printf.sprintf "%s failed or took more than %.0f s" call patience)

let pair program line =
  match String.split_on_char ' ' line with
  | [ first; second ] -> (first, second)
  | _ -> failwith (Printf.sprintf "%s printed %S instead of two words" program line)

let of_program program =
  let peer line =
    let experiment, name = pair program line in
    { program; experiment; name }
  in
  List.map peer (lines program [ "list" ])

let discover dir =
  let programs = Sys.readdir dir in
  Array.sort String.compare programs;
  List.concat_map (fun file -> of_program (Filename.concat dir file)) (Array.to_list programs)

let of_experiment peers experiment =
  List.filter (fun peer -> String.equal peer.experiment experiment) peers

let name peer = peer.name

let cost program line =
  match float_of_string_opt (snd (pair program line)) with
  | Some cost -> cost
  | None -> failwith (Printf.sprintf "%s printed %S: no number" program line)

let run { program; experiment; name } ~threads ~size =
  let args = [ experiment; name; string_of_int threads; string_of_int size ] in
  match lines program args with
  | [ line ] -> cost program line
  | _ -> failwith (Printf.sprintf "%s did not print one line" program)
