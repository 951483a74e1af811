type t = { path : string; text : string }

exception Unreadable of { path : string; reason : string }

let unreadable path format =
  Printf.ksprintf (fun reason -> raise (Unreadable { path; reason })) format

let lists = "/var/lib/apt/lists"
let apt_helper = "/usr/lib/apt/apt-helper"

type format = { extension : string; magic : string; tool : string }

let formats =
  [
    { extension = ".gz"; magic = "\x1f\x8b"; tool = "gzip" };
    { extension = ".xz"; magic = "\xfd7zXZ\x00"; tool = "xz" };
    { extension = ".lz4"; magic = "\x04\x22\x4d\x18"; tool = "lz4" };
    { extension = ".zst"; magic = "\x28\xb5\x2f\xfd"; tool = "zstd" };
    { extension = ".bz2"; magic = "BZh"; tool = "bzip2" };
  ]

let is_package_list file =
  let endings = "" :: List.map (fun format -> format.extension) formats in
  List.exists (fun e -> String.ends_with ~suffix:("_Packages" ^ e) file) endings

let on_this_machine () =
  match Sys.readdir lists with
  | exception Sys_error _ -> []
  | files ->
    Array.to_list files |> List.filter is_package_list |> List.sort String.compare
    |> List.map (Filename.concat lists)

(* apt's helper goes by the file's name, so it is no help where the name does not tell. It comes
   second, for machines without the tool: of a file of several parts, as [pbzip2] and [cat] make, it
   reads but the first, and it takes a gzip file that was cut off for a whole one. *)
let commands format path =
  let tool = [| format.tool; "-dc" |] in
  if Filename.check_suffix path format.extension && Sys.file_exists apt_helper then
    [ tool; [| apt_helper; "cat-file"; path |] ]
  else [ tool ]

let rec wait pid = try snd (Unix.waitpid [] pid) with Unix.Unix_error (EINTR, _, _) -> wait pid

(* The tool's own messages are dropped: the reader gets one line, from us. *)
let output_of argv ~input =
  let null = Unix.openfile Filename.null [ O_RDWR; O_CLOEXEC ] 0 in
  let from_tool, to_us = Unix.pipe ~cloexec:true () in
  let close_ours () = List.iter Unix.close [ null; to_us ] in
  match Unix.create_process argv.(0) argv input to_us null with
  | exception (Unix.Unix_error _ as error) ->
    close_ours ();
    Unix.close from_tool;
    raise error
  | pid ->
    close_ours ();
    let channel = Unix.in_channel_of_descr from_tool in
    set_binary_mode_in channel true;
    let finally () = close_in channel in
    let output = Fun.protect ~finally (fun () -> In_channel.input_all channel) in
    (output, wait pid)

(* By the first command that is installed. *)
let rec read_by commands ~input path format =
  match commands with
  | [] -> unreadable path "it takes %s to read, which is not installed" format.tool
  | argv :: others -> (
    let tool = Filename.basename argv.(0) in
    match output_of argv ~input with
    | output, WEXITED 0 -> output
    | _, WEXITED 127 | (exception Unix.Unix_error (ENOENT, _, _)) ->
      read_by others ~input path format
    | _, _ -> unreadable path "%s cannot decompress it" tool
    | exception Unix.Unix_error (error, _, _) ->
      unreadable path "cannot start %s: %s" tool (Unix.error_message error))

let read_compressed format path input =
  match Unix.lseek input 0 SEEK_SET with
  | _ -> read_by (commands format path) ~input path format
  | exception Unix.Unix_error _ ->
    unreadable path "it is compressed, and can be read only once: decompress it first"

let format_of text =
  List.find_opt (fun format -> String.starts_with ~prefix:format.magic text) formats

(* Opened once and read before anything is asked of it: of a pipe nothing comes twice. *)
let text_of path =
  In_channel.with_open_bin path (fun channel ->
      let text = In_channel.input_all channel in
      match format_of text with
      | None -> text
      | Some format -> read_compressed format path (Unix.descr_of_in_channel channel))

(* The system's message begins with the path, and so will ours. *)
let reason_in message path =
  let prefix = path ^ ": " in
  if String.starts_with ~prefix message then
    let start = String.length prefix in
    String.sub message start (String.length message - start)
  else message

let read path =
  let text =
    try text_of path with Sys_error message -> unreadable path "%s" (reason_in message path)
  in
  if String.length text > Text.max_length then
    unreadable path "it has more than %d bytes" Text.max_length;
  { path; text }
