type built = Sanitized | Plain | Unknown

let contains text part =
  match Str.search_forward (Str.regexp_string part) text 0 with
  | _ -> true
  | exception Not_found -> false

(* Where there is ThreadSanitizer, each access is a call of it. *)
let built path =
  match In_channel.with_open_bin path In_channel.input_all with
  | exception Sys_error _ -> Unknown
  | text when not (contains text "caml_startup") -> Unknown
  | text -> if contains text "__tsan_read8" then Sanitized else Plain

let is_sanitized () =
  let ask compiler = compiler ^ " -config-var tsan 2>/dev/null" in
  let command = ask "ocamlfind ocamlopt" ^ " || " ^ ask "ocamlopt" in
  let channel = Unix.open_process_in command in
  let answer = In_channel.input_all channel in
  ignore (Unix.close_process_in channel);
  String.trim answer = "true"

(* {2 The one that make tsan leaves (tools/tsan)} *)

let cache () =
  match Sys.getenv_opt "XDG_CACHE_HOME" with
  | Some folder when folder <> "" -> folder
  | Some _ | None -> Filename.concat (Option.value (Sys.getenv_opt "HOME") ~default:"/") ".cache"

let left () =
  let folder = Filename.concat (cache ()) "muster" in
  let is_one path = String.ends_with ~suffix:"-tsan" path && Sys.file_exists (Filename.concat path "complete") in
  let names = try Sys.readdir folder with Sys_error _ -> [||] in
  List.find_opt is_one (List.map (Filename.concat folder) (Array.to_list names))

let other's = [ "OCAMLPATH"; "OCAMLLIB"; "CAMLLIB"; "CAML_LD_LIBRARY_PATH" ]

let with_it ~folder ~scratch command =
  let libraries = Filename.concat folder "lib/ocaml" in
  let configuration = Filename.concat scratch "findlib.conf" in
  Out_channel.with_open_text configuration (fun channel ->
      Printf.fprintf channel "path=\"%s\"\ndestdir=\"%s\"\n" libraries libraries);
  let path = Option.value (Sys.getenv_opt "PATH") ~default:"/usr/bin:/bin" in
  let path = Printf.sprintf "PATH=%s:%s" (Filename.concat folder "bin") path in
  ("env" :: List.concat_map (fun name -> [ "-u"; name ]) other's)
  @ [ path; "OCAMLFIND_CONF=" ^ configuration ]
  @ command
