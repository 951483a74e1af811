(* A program with an option -j, which prints digests of files as md5sum does. To add the option to
   your program, copy the term below, and put it among the terms of the program. *)

open Cmdliner

(* Term *)
let jobs =
  let parse text =
    match int_of_string_opt text with
    | Some n when n >= 1 -> Ok n
    | Some _ | None -> Error (Printf.sprintf "%S is not a number of CPUs, from 1" text)
  in
  let cpus = Arg.conv' ~docv:"N" (parse, Format.pp_print_int) in
  let doc = "Use $(docv) CPUs at most; by default all that the process may use." in
  let set = Option.iter (fun domains -> Muster.Pool.set_default ~domains) in
  Term.(const set $ Arg.(value & opt (some cpus) None & info [ "j"; "jobs" ] ~docv:"N" ~doc))

(* Each file is read and digested by a task; a file that cannot be read stops no other. The reason
   has the file's name where it cannot be opened, but not where a read fails. *)
let digest file =
  match Digest.file file with
  | digest -> Ok digest
  | exception Sys_error reason ->
    Error (if String.starts_with ~prefix:file reason then reason else file ^ ": " ^ reason)

let report file = function
  | Ok digest ->
    Printf.printf "%s  %s\n" (Digest.to_hex digest) file;
    true
  | Error reason ->
    Printf.eprintf "jobs: %s\n" reason;
    false

(* The pool starts here, on first use: after the term has been evaluated. *)
let main () files =
  let digests = Muster.Task.all (List.map (fun file () -> digest file) files) in
  let are_read = List.map2 report files digests in
  if List.for_all Fun.id are_read then Cmd.Exit.ok else Cmd.Exit.some_error

let example =
  let doc = "digests of files; shows an option -j for the number of CPUs" in
  let files = Arg.(non_empty & pos_all string [] & info [] ~docv:"FILE") in
  ("jobs", doc, Cmd.v (Cmd.info "jobs" ~doc) Term.(const main $ jobs $ files))
