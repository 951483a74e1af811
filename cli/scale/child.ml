type outcome = {
  seconds : float;
  cpu_seconds : float;
  status : Unix.process_status;
  errors : string;
}

(* {2 Signals}

   The terminal sends Ctrl-C to the program as well, which may take some time to end; a kill of this
   process alone does not reach it. So a program that is still there after [patience] is sent the
   signal, and killed at the next one. *)

let patience = 0.3
let signals = ref []

let catch_signals () =
  let note signal = signals := signal :: !signals in
  List.iter (fun it -> Sys.set_signal it (Signal_handle note)) [ Sys.sigint; Sys.sigterm ]

let number signal =
  let known = Sys.[ (sigint, 2); (sigterm, 15); (sigkill, 9); (sigquit, 3); (sighup, 1) ] in
  let known =
    known @ Sys.[ (sigsegv, 11); (sigabrt, 6); (sigbus, 7); (sigfpe, 8); (sigpipe, 13) ]
    @ Sys.[ (sigill, 4); (sigalrm, 14); (sigusr1, 10); (sigusr2, 12); (sigxcpu, 24); (sigxfsz, 25) ]
  in
  Option.value (List.assoc_opt signal known) ~default:(Int.max signal 0)

let code : Unix.process_status -> int = function
  | WEXITED code -> code
  | WSIGNALED signal | WSTOPPED signal -> 128 + number signal

let stopped () = match !signals with [] -> None | signal :: _ -> Some (128 + number signal)

type forwarding = { pid : int; mutable since : float; mutable told : bool }

let kill pid signal = try Unix.kill pid signal with Unix.Unix_error (ESRCH, _, _) -> ()

let forward it =
  match !signals with
  | [] -> ()
  | _ :: _ :: _ -> kill it.pid Sys.sigkill
  | [ signal ] ->
    if it.since = infinity then it.since <- Unix.gettimeofday ();
    if (not it.told) && Unix.gettimeofday () > it.since +. patience then begin
      it.told <- true;
      kill it.pid signal
    end

(* {2 The end of what it says}

   A pipe tells of the end at once. A child of the program that lives on may hold it open, or the program
   may have closed it: so the process is looked at as well. *)

let tick = 0.02
let kept = 65_536

let keep buffer chunk length =
  Buffer.add_subbytes buffer chunk 0 length;
  if Buffer.length buffer > 16 * kept then begin
    let tail = Buffer.sub buffer (Buffer.length buffer - kept) kept in
    Buffer.clear buffer;
    Buffer.add_string buffer tail
  end

let chunk = Bytes.create 65_536

(* Whether there may be more. *)
let read_some pipe buffer =
  match Unix.select [ pipe ] [] [] tick with
  | [], _, _ -> `Nothing
  | _ -> (
    match Unix.read pipe chunk 0 (Bytes.length chunk) with
    | 0 -> `End
    | n ->
      keep buffer chunk n;
      `Some)
  | exception Unix.Unix_error (EINTR, _, _) -> `Some

let rec ended it flags =
  forward it;
  match Unix.waitpid flags it.pid with
  | 0, _ -> None
  | _, status -> Some status
  | exception Unix.Unix_error (EINTR, _, _) -> ended it flags

let rec closed it =
  match ended it [ WNOHANG ] with
  | Some status -> status
  | None ->
    (try Unix.sleepf 0.001 with Unix.Unix_error (EINTR, _, _) -> ());
    closed it

let rec follow it pipe buffer =
  match read_some pipe buffer with
  | `End -> closed it
  | `Some ->
    forward it;
    follow it pipe buffer
  | `Nothing -> (
    match ended it [ WNOHANG ] with Some status -> status | None -> follow it pipe buffer)

(* {2 A run} *)

let environment env =
  let is_set binding =
    List.exists (fun (name, _) -> String.starts_with ~prefix:(name ^ "=") binding) env
  in
  let kept = List.filter (fun it -> not (is_set it)) (Array.to_list (Unix.environment ())) in
  Array.of_list (List.map (fun (name, value) -> name ^ "=" ^ value) env @ kept)

let cannot_start program : Unix.error -> int * string = function
  | ENOENT -> (127, program ^ ": no such program")
  | error -> (126, Printf.sprintf "%s cannot be started: %s" program (Unix.error_message error))

let of_children () =
  let times = Unix.times () in
  times.tms_cutime +. times.tms_cstime

let watch pid pipe =
  let buffer = Buffer.create 4096 in
  let status = follow { pid; since = infinity; told = false } pipe buffer in
  (status, Buffer.contents buffer)

let run_here ~env command =
  let program = List.hd command in
  let argv = Array.of_list command and env = environment env in
  match Unix.create_process_env program argv env Unix.stdin Unix.stdout Unix.stderr with
  | exception Unix.Unix_error (error, _, _) -> Error (cannot_start program error)
  | pid -> Ok (closed { pid; since = infinity; told = false })

let run ~env command =
  let program = List.hd command in
  let pipe, its_end = Unix.pipe ~cloexec:true () in
  let null = Unix.openfile Filename.null [ O_RDWR; O_CLOEXEC ] 0 in
  let close () = List.iter Unix.close [ null; its_end ] in
  Fun.protect ~finally:(fun () -> Unix.close pipe) @@ fun () ->
  let cpu = of_children () and start = Clock.now () in
  let argv = Array.of_list command and env = environment env in
  match Unix.create_process_env program argv env null null its_end with
  | exception Unix.Unix_error (error, _, _) ->
    close ();
    Error (cannot_start program error)
  | pid ->
    close ();
    let status, errors = watch pid pipe in
    let seconds = (Clock.now () -. start) *. 1e-9 in
    Ok { seconds; cpu_seconds = of_children () -. cpu; status; errors }
