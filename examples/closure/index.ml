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

let read_plain path =
  try In_channel.with_open_bin path In_channel.input_all
  with Sys_error message ->
    let prefix = path ^ ": " in
    let reason =
      if String.starts_with ~prefix message then
        let start = String.length prefix in
        String.sub message start (String.length message - start)
      else message
    in
    unreadable path "%s" reason

(* apt's helper goes by the file's name, so it is no help where the name does not tell. *)
let command format path =
  if Filename.check_suffix path format.extension && Sys.file_exists apt_helper then
    [| apt_helper; "cat-file"; path |]
  else [| format.tool; "-dc"; "--"; path |]

let rec wait pid =
  try snd (Unix.waitpid [] pid) with Unix.Unix_error (EINTR, _, _) -> wait pid

(* The tool's own messages are dropped: the reader gets one line, from us. *)
let output_of argv =
  let null = Unix.openfile Filename.null [ O_RDWR; O_CLOEXEC ] 0 in
  let from_tool, to_us = Unix.pipe ~cloexec:true () in
  let close_ours () = List.iter Unix.close [ null; to_us ] in
  match Unix.create_process argv.(0) argv null to_us null with
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

let read_compressed format path =
  let argv = command format path in
  let tool = Filename.basename argv.(0) in
  match output_of argv with
  | output, WEXITED 0 -> output
  | _, WEXITED 127 | (exception Unix.Unix_error (ENOENT, _, _)) ->
      unreadable path "it takes %s to read, which is not installed" tool
  | _, _ -> unreadable path "%s cannot decompress it" tool
  | exception Unix.Unix_error (error, _, _) ->
      unreadable path "cannot start %s: %s" tool (Unix.error_message error)

let longest_magic = 6

(* Empty where they cannot be read: reading the rest will say why. *)
let first_bytes path =
  let bytes = Bytes.create longest_magic in
  match In_channel.(with_open_bin path (fun c -> input c bytes 0 longest_magic)) with
  | length -> Bytes.sub_string bytes 0 length
  | exception Sys_error _ -> ""

let format_of path =
  let start = first_bytes path in
  List.find_opt (fun format -> String.starts_with ~prefix:format.magic start) formats

let read path =
  let text =
    match format_of path with
    | None -> read_plain path
    | Some format -> read_compressed format path
  in
  if String.length text > Text.max_length then
    unreadable path "it has more than %d bytes" Text.max_length;
  { path; text }
