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

let longest_magic =
  List.fold_left (fun most { magic; _ } -> max most (String.length magic)) 0 formats

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

(* Until it is longer than that, or no more comes: a device has no end, nor may a small file unpacked. *)
let rec fill text channel ~most =
  if Buffer.length text <= most then begin
    let piece = Bytes.create 65_536 in
    let n = In_channel.input channel piece 0 (Bytes.length piece) in
    Buffer.add_subbytes text piece 0 n;
    if n > 0 then fill text channel ~most
  end

let rec wait pid = try snd (Unix.waitpid [] pid) with Unix.Unix_error (EINTR, _, _) -> wait pid

(* The tool's own messages are dropped: the reader gets one line, from us. Where standard input was
   closed, the file may have its number, and is to stay open then. *)
let output_of argv ~most ~input =
  Unix.clear_close_on_exec input;
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
    let finally () = close_in channel and output = Buffer.create 65_536 in
    Fun.protect ~finally (fun () -> fill output channel ~most);
    (output, wait pid)

(* By the first command that is installed. One that gave too much was not let finish. *)
let rec read_by commands ~most ~input path format =
  match commands with
  | [] -> unreadable path "it takes %s to read, which is not installed" format.tool
  | argv :: others -> (
    let tool = Filename.basename argv.(0) in
    match output_of argv ~most ~input with
    | output, status when status = WEXITED 0 || Buffer.length output > most -> output
    | _, WEXITED 127 | (exception Unix.Unix_error (ENOENT, _, _)) ->
      read_by others ~most ~input path format
    | _, _ -> unreadable path "%s cannot decompress it" tool
    | exception Unix.Unix_error (error, _, _) ->
      unreadable path "cannot start %s: %s" tool (Unix.error_message error))

let read_compressed format path ~most input =
  match Unix.lseek input 0 SEEK_SET with
  | _ -> read_by (commands format path) ~most ~input path format
  | exception Unix.Unix_error _ ->
    unreadable path "it is compressed, and can be read only once: decompress it first"

let format_of text =
  List.find_opt (fun format -> String.starts_with ~prefix:format.magic text) formats

(* Opened once and read before anything is asked of it: of a pipe nothing comes twice. *)
let text_of path ~most =
  In_channel.with_open_bin path (fun channel ->
      let text = Buffer.create 65_536 in
      fill text channel ~most:(longest_magic - 1);
      let start = Buffer.contents text in
      match format_of start with
      | Some format -> read_compressed format path ~most (Unix.descr_of_in_channel channel)
      | None when String.contains start '\000' -> unreadable path "it is no text"
      | None ->
        fill text channel ~most;
        text)

(* The system's message begins with the path, and so will ours. *)
let reason_in message path =
  let prefix = path ^ ": " in
  if String.starts_with ~prefix message then
    let start = String.length prefix in
    String.sub message start (String.length message - start)
  else message

let read ?(most = Text.max_length) path =
  match text_of path ~most with
  | text when Buffer.length text > most -> unreadable path "it has more than %d bytes" most
  | text -> { path; text = Buffer.contents text }
  | exception Sys_error message -> unreadable path "%s" (reason_in message path)
