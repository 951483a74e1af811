open Cmdliner

let positive =
  let parse text =
    match int_of_string_opt text with
    | Some n when n >= 1 -> Ok n
    | Some _ | None -> Error (`Msg (Printf.sprintf "%S is not a number from 1" text))
  in
  Arg.conv ~docv:"N" (parse, Format.pp_print_int)

let file name doc = Arg.(value & opt (some string) None & info [ name ] ~docv:"FILE" ~doc)

let obstacle file =
  let attempt () =
    match (Unix.stat file).st_kind with
    | S_REG | S_DIR -> Unix.close (Unix.openfile file [ O_WRONLY ] 0)
    | _ -> ()
    | exception Unix.Unix_error (ENOENT, _, _) -> Unix.access (Filename.dirname file) [ W_OK; X_OK ]
  in
  match attempt () with
  | () -> None
  | exception Unix.Unix_error (error, _, _) ->
    Some (Printf.sprintf "%s: %s" file (Unix.error_message error))

let write file text = Out_channel.with_open_bin file (fun out -> output_string out text)
