type confine = string list -> string list

let anywhere command = command
let this = Sys.executable_name

let alone =
  let here = Filename.dirname Sys.executable_name in
  Filename.concat (Filename.concat here "plain") "alone.exe"

let is_setting variable =
  List.exists
    (fun prefix -> String.starts_with ~prefix variable)
    [ "OCAMLRUNPARAM="; "CAMLRUNPARAM="; "MUSTER_" ]

let environment =
  lazy
    (Unix.environment () |> Array.to_list
    |> List.filter (fun variable -> not (is_setting variable))
    |> Array.of_list)

let start_command command ~output =
  let program = List.hd command and arguments = Array.of_list command in
  let environment = Lazy.force environment in
  Unix.create_process_env program arguments environment Unix.stdin output output

let start program arguments ~output = start_command (program :: arguments) ~output

(* ---- Reading what it prints ---- *)

let most_seconds = 60.

exception Overtime

let rec read_all input ~until text =
  let left = until -. Unix.gettimeofday () in
  match Unix.select [ input ] [] [] (Float.max 0. left) with
  | [], _, _ -> raise Overtime
  | _ ->
    let piece = Bytes.create 4096 in
    let length = Unix.read input piece 0 (Bytes.length piece) in
    if length > 0 then begin
      Buffer.add_subbytes text piece 0 length;
      read_all input ~until text
    end

let explain status =
  match status with
  | Unix.WEXITED code -> Printf.sprintf "exit status %d" code
  | WSIGNALED signal | WSTOPPED signal -> Printf.sprintf "signal %d" signal

let figures command text status =
  match (status, Figures.parse text) with
  | Unix.WEXITED 0, Some figures -> figures
  | _ ->
    let command = String.concat " " command in
    failwith (Printf.sprintf "%s: %s: %s" command (explain status) (String.trim text))

let run ?(confine = anywhere) program arguments =
  let command = confine (program :: arguments) in
  let input, output = Unix.pipe ~cloexec:true () in
  let pid = start_command command ~output in
  Unix.close output;
  let text = Buffer.create 256 in
  let until = Unix.gettimeofday () +. most_seconds in
  let reap () =
    Unix.close input;
    snd (Unix.waitpid [] pid)
  in
  match read_all input ~until text with
  | () -> figures command (Buffer.contents text) (reap ())
  | exception interruption ->
    Unix.kill pid Sys.sigkill;
    ignore (reap ());
    if interruption = Overtime then failwith (String.concat " " command ^ ": overtime")
    else raise interruption
