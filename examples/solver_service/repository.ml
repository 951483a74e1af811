module Lazy = Muster.Lazy

(* The table does not change once it is there, so that all domains may look into it. *)
type t = { packages : (string, name) Hashtbl.t; separator : string }
and name = { read : unit -> Package.t list; found : Package.t list Lazy.t Atomic.t }

exception Unreadable of string

type source = Debian of string list | Opam of string

let unreadable format = Printf.ksprintf (fun reason -> raise (Unreadable reason)) format

(* Where a library's exception is about a file, it becomes ours. *)
let reading f =
  try f () with
  | Sys_error reason -> unreadable "%s" reason
  | Unix.Unix_error (error, _, what) -> unreadable "%s: %s" what (Unix.error_message error)
  | Muster_closure.Index.Unreadable { path; reason } -> unreadable "%s: %s" path reason
  | Muster_closure.Text.Malformed { text; at; reason } ->
    unreadable "line %d of an index: %s" (Muster_closure.Text.line_of text at) reason
  | Opam.Malformed { file; reason } -> unreadable "%s: %s" file reason

let make ~separator names candidates =
  let packages = Hashtbl.create 10_000 in
  let sorted name () =
    reading (fun () -> List.stable_sort Package.newest_first (candidates name))
  in
  let add name =
    if not (Hashtbl.mem packages name) then
      let read = sorted name in
      Hashtbl.add packages name { read; found = Atomic.make (Lazy.from_fun read) }
  in
  Seq.iter add names;
  { packages; separator }

let debian indexes =
  let index = Debian.read indexes in
  make ~separator:"=" (Debian.names index) (Debian.candidates index)

(* {2 Opam files}

   The disk may be slow: the reads are blocking calls. The worker goes on with others meanwhile, and
   a job that waits for them can be cancelled. *)

let version_of ~name directory =
  let prefix = name ^ "." in
  if String.starts_with ~prefix directory then
    let start = String.length prefix in
    Some (String.sub directory start (String.length directory - start))
  else None

let parse ~name (directory, text) =
  Option.bind (version_of ~name directory) (fun version -> Opam.parse ~name ~version text)

(* A signal of the service's may strike the thread that waits for a slow file. *)
let rec opened file =
  match Unix.openfile file [ O_RDONLY; O_CLOEXEC ] 0 with
  | it -> Unix.in_channel_of_descr it
  | exception Unix.Unix_error (EINTR, _, _) -> opened file

let text_of file =
  let input = opened file in
  Fun.protect ~finally:(fun () -> close_in input) (fun () -> In_channel.input_all input)

let tree root =
  let packages = Filename.concat root "packages" in
  let read name directory =
    let file = List.fold_left Filename.concat packages [ name; directory; "opam" ] in
    (directory, text_of file)
  in
  let files name =
    Array.to_list (Sys.readdir (Filename.concat packages name))
    |> List.filter (fun it -> version_of ~name it <> None)
    |> List.map (read name)
  in
  let candidates name =
    List.filter_map (parse ~name) (Muster.Task.blocking (fun () -> files name))
  in
  let names = Muster.Task.blocking (fun () -> Sys.readdir packages) in
  make ~separator:"." (Array.to_seq names) candidates

(* tar writes all files one after the other, and a line with the size and the name of each. *)
let unpacked archive =
  let listing = Filename.temp_file "solver" ".list" in
  Fun.protect ~finally:(fun () -> Sys.remove listing) @@ fun () ->
  let command =
    Filename.quote_command "tar"
      [ "--extract"; "--to-stdout"; "-vv"; "--quoting-style=escape"; "--numeric-owner";
        "--index-file=" ^ listing; "--file=" ^ archive ]
  in
  let output = Unix.open_process_in command in
  set_binary_mode_in output true;
  let text = In_channel.input_all output in
  if Unix.close_process_in output <> WEXITED 0 then unreadable "%s: tar cannot read it" archive;
  (text, In_channel.with_open_bin listing In_channel.input_all)

(* -rw-r--r-- root/root  1234 2026-01-02 03:04 opam/packages/NAME/NAME.VERSION/opam *)
let size_and_name line =
  match List.filter (( <> ) "") (String.split_on_char ' ' line) with
  | mode :: _ :: size :: _ :: _ :: [ path ] when mode.[0] = '-' -> (
    match List.rev (String.split_on_char '/' path) with
    | "opam" :: directory :: name :: _ -> (int_of_string size, Some (name, directory))
    | _ -> (int_of_string size, None))
  | mode :: _ :: size :: _ when mode.[0] = '-' -> (int_of_string size, None)
  | _ -> (0, None)

let archive path =
  let text, listing = Muster.Task.blocking (fun () -> unpacked path) in
  let files = Hashtbl.create 10_000 in
  let add start line =
    let size, name = size_and_name line in
    Option.iter (fun (name, directory) -> Hashtbl.add files name (directory, start, size)) name;
    start + size
  in
  ignore (List.fold_left add 0 (String.split_on_char '\n' listing) : int);
  let text_of (directory, start, size) = (directory, String.sub text start size) in
  let candidates name =
    List.filter_map (parse ~name) (List.map text_of (Hashtbl.find_all files name))
  in
  make ~separator:"." (Hashtbl.to_seq_keys files) candidates

let load source =
  reading @@ fun () ->
  match source with
  | Debian [] -> unreadable "apt keeps no package index here: apt-get update, or --opam PATH"
  | Debian indexes -> debian indexes
  | Opam path ->
    if Muster.Task.blocking (fun () -> Sys.is_directory path) then tree path else archive path

(* {2 Use} *)

(* A failure is for those who waited, as it may pass: files run out for a while. *)
let force { read; found } =
  let these = Atomic.get found in
  try Lazy.force these
  with Unreadable _ as error ->
    ignore (Atomic.compare_and_set found these (Lazy.from_fun read) : bool);
    raise error

let candidates t name = Option.fold (Hashtbl.find_opt t.packages name) ~none:[] ~some:force

let list t packages =
  let item (it : Package.t) = it.name ^ t.separator ^ it.version in
  String.concat " " (List.sort String.compare (List.map item packages))
