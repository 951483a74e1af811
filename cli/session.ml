type refusal = { status : int; why : string }

(* {2 A program of our own} *)

type input = File of int | Stream | Nothing

let input () =
  match (Unix.fstat Unix.stdin).st_kind with
  | S_REG -> File (Unix.lseek Unix.stdin 0 SEEK_CUR)
  | S_FIFO | S_SOCK -> Stream
  | S_DIR | S_CHR | S_BLK | S_LNK -> Nothing
  | exception Unix.Unix_error _ -> Nothing

(* Neither text nor its end has come: the command got a pipe, and no input. *)
let is_idle () = Unix.select [ Unix.stdin ] [] [] 0. = ([], [], [])

let with_variable name value environment =
  let is_it line = String.starts_with ~prefix:(name ^ "=") line in
  (name ^ "=" ^ value) :: List.filter (fun line -> not (is_it line)) environment

(* So many words of a ring, as a power of 2: 4 MiB, some 80,000 events. The user's settings stay. *)
let ring_size = "e=19"

let run_parameters () =
  let name =
    if Sys.getenv_opt "OCAMLRUNPARAM" = None && Sys.getenv_opt "CAMLRUNPARAM" <> None then
      "CAMLRUNPARAM"
    else "OCAMLRUNPARAM"
  in
  let own = Option.value (Sys.getenv_opt name) ~default:"" in
  let has_size = List.exists (String.starts_with ~prefix:"e=") (String.split_on_char ',' own) in
  (name, if has_size then own else if own = "" then ring_size else own ^ "," ^ ring_size)

let environment ~dir ~alone ~wish =
  let name, value = run_parameters () in
  let set =
    [
      (name, value);
      ("MUSTER_TRACE", wish);
      ("OCAML_RUNTIME_EVENTS_START", "1");
      ("OCAML_RUNTIME_EVENTS_DIR", dir);
      ("OCAML_RUNTIME_EVENTS_PRESERVE", "1");
    ]
    @ if alone <> None then [ ("MUSTER_DOMAINS", "1") ] else []
  in
  let add lines (name, value) = with_variable name value lines in
  Array.of_list (List.fold_left add (Array.to_list (Unix.environment ())) set)

let outcome_of : Unix.process_status -> Recording.outcome = function
  | WEXITED n -> Exited n
  | WSIGNALED n | WSTOPPED n -> Signalled (Muster_scale.Child.number n)

let children's_cpu () =
  let { Unix.tms_cutime; tms_cstime; _ } = Unix.times () in
  tms_cutime +. tms_cstime

(* The first interrupt of a terminal reaches the program, too; one that was sent to the command
   alone is passed on, and so is a second one. *)
let with_signals pid f =
  let interrupts = ref 0 in
  let pass signal = try Unix.kill pid signal with Unix.Unix_error _ -> () in
  let interrupt signal =
    incr interrupts;
    if !interrupts > 1 then pass Sys.sigterm
    else if not (Unix.isatty Unix.stdin) then pass signal
  in
  let set signal f = (signal, Sys.signal signal (Sys.Signal_handle f)) in
  let before =
    [
      set Sys.sigint interrupt; set Sys.sigterm pass; set Sys.sighup pass; set Sys.sigchld ignore;
    ]
  in
  let restore () = List.iter (fun (signal, it) -> Sys.set_signal signal it) before in
  Fun.protect ~finally:restore (fun () -> f interrupts)

let has_ended pid _ =
  match Unix.waitpid [ WNOHANG ] pid with
  | 0, _ -> None
  | _, status -> Some status
  | exception Unix.Unix_error (EINTR, _, _) -> None

let start ~dir ~alone ~wish program =
  let environment = environment ~dir ~alone ~wish in
  let spawn program ~input ~output ~errors =
    Unix.create_process_env (List.hd program) (Array.of_list program) environment input output
      errors
  in
  match alone with
  | None -> spawn program ~input:Unix.stdin ~output:Unix.stdout ~errors:Unix.stderr
  | Some it ->
    let null = Unix.openfile "/dev/null" [ O_RDWR; O_CLOEXEC ] 0 in
    let again = function
      | File place -> ignore (Unix.lseek Unix.stdin place SEEK_SET); Unix.stdin
      | Stream | Nothing -> null
    in
    Fun.protect
      ~finally:(fun () -> Unix.close null)
      (fun () ->
        let spawn = spawn ~input:(again it) ~output:null ~errors:null in
        try spawn ("taskset" :: "-c" :: string_of_int (Procfs.first_cpu ()) :: program)
        with Unix.Unix_error _ -> spawn program)
[@@ocamlformat "disable"]

(* What lives long here are tables: to collect seldom costs little, and the program needs the CPUs. *)
let collect_seldom () =
  Gc.set { (Gc.get ()) with minor_heap_size = 1_048_576; space_overhead = 400 }

let watched ~dir ~alone ~gauged ~wish program =
  collect_seldom ();
  let before = children's_cpu () and since = Muster_trace.Trace.now () in
  match start ~dir ~alone ~wish program with
  | exception Unix.Unix_error (error, _, _) ->
    let status = if error = Unix.ENOENT then 127 else 126 in
    Error { status; why = Printf.sprintf "cannot start %s: %s" (List.hd program) (Unix.error_message error) }
  | pid ->
    with_signals pid (fun interrupts ->
        let watch = Watch.make ~gauged ~attached:false ~dir ~since pid in
        let outcome = outcome_of (Watch.until watch ~over:(has_ended pid)) in
        (* A child that was killed has not waited for its own. *)
        let cpu = Float.max (Watch.cpu watch) (if Watch.is_replaced watch then 0. else children's_cpu () -. before) in
        Ok (Watch.run watch ~program ~outcome ~cpu ~interrupted:(!interrupts > 0)))
[@@ocamlformat "disable"]

let remove dir =
  let remove file = try Sys.remove (Filename.concat dir file) with Sys_error _ -> () in
  try
    Array.iter remove (Sys.readdir dir);
    Sys.rmdir dir
  with Sys_error _ -> ()

(* The runtime maps a ring, and writes it where a full disk ends the program. *)
let try_room dir =
  let file = Filename.concat dir "room" and ring = String.make 4_194_304 '\000' in
  let write oc = for _ = 1 to Muster_core.Cpu.affinity () do output_string oc ring done; flush oc in
  Out_channel.with_open_bin file write;
  Sys.remove file
[@@ocamlformat "disable"]

let run ?alone ?(span = false) ?(timeline = false) program =
  let watched dir =
    try_room dir;
    watched ~dir ~alone ~gauged:(span || alone <> None) ~wish:(if timeline then "1" else "sparse") program
  in
  try
    let dir = Filename.temp_dir "muster" "" in
    Fun.protect ~finally:(fun () -> remove dir) (fun () -> watched dir)
  with Sys_error reason ->
    Error { status = 1; why = Printf.sprintf "no place for the trace (TMPDIR sets it): %s" reason }

(* {2 A running one} *)

let variable_of ~pid name =
  let prefix = name ^ "=" in
  let value line =
    if not (String.starts_with ~prefix line) then None
    else Some (String.sub line (String.length prefix) (String.length line - String.length prefix))
  in
  Option.bind
    (Procfs.read (Printf.sprintf "/proc/%d/environ" pid))
    (fun text -> List.find_map value (String.split_on_char '\000' text))

(* Where its runtime has, or would have, its rings. *)
let folder_of ~pid =
  let own = Unix.readlink (Printf.sprintf "/proc/%d/cwd" pid) in
  match variable_of ~pid "OCAML_RUNTIME_EVENTS_DIR" with
  | Some dir when Filename.is_relative dir -> Filename.concat own dir
  | Some dir -> dir
  | None -> own

let request ~dir ~pid wish =
  let file = Filename.concat dir (Printf.sprintf "%d.muster" pid) in
  Out_channel.with_open_bin file (fun oc -> output_string oc wish; flush oc);
  file


(* The process removes what it has read, a quarter of a second later. *)
let ask_to_stop ~dir ~pid file =
  if Procfs.is_there pid then begin
    ignore (request ~dir ~pid "off");
    Unix.sleepf 0.6
  end;
  if Sys.file_exists file then Sys.remove file

(* It looks four times a second. *)
let patience = 1_000_000_000

let waiting ~pid =
  let is_busy { Account.sleeps; _ } = sleeps = None in
  let why =
    if Procfs.is_stopped pid then "the program is stopped (kill -CONT lets it go on)"
    else if List.exists is_busy (Procfs.threads pid) then
      "each is in the midst of a task that computes without a call of Muster's, or in no pool"
    else "the program sleeps now, and looks when it has something to do"
  in
  Printf.sprintf "muster: waiting for a worker to begin to trace: %s" why

let watch_attached ~dir ~pid ~seconds file =
  let since = Muster_trace.Trace.now () in
  let watch = Watch.make ~attached:true ~dir ~since pid in
  let length = Option.fold seconds ~none:max_int ~some:(fun s -> int_of_float (s *. 1e9)) in
  let interrupts = ref 0 and is_waited_for = ref false in
  let is_over now =
    if (not !is_waited_for) && (not (Watch.has_begun watch)) && now - since > patience then begin
      is_waited_for := true;
      prerr_endline (waiting ~pid)
    end;
    let stay = Procfs.is_there pid && !interrupts = 0 && now - since < length in
    if stay then None else Some ()
  in
  let before = Sys.signal Sys.sigint (Sys.Signal_handle (fun _ -> incr interrupts)) in
  Fun.protect
    ~finally:(fun () ->
      Sys.set_signal Sys.sigint before;
      ask_to_stop ~dir ~pid file)
    (fun () ->
      Watch.until watch ~over:is_over;
      let program = [ Printf.sprintf "process %d" pid ] and cpu = Watch.cpu watch in
      let outcome : Recording.outcome = if Procfs.is_there pid then Still_running else Ended in
      Watch.run watch ~program ~outcome ~cpu ~interrupted:false)

let attach ?(timeline = false) ~pid seconds =
  match
    let dir = folder_of ~pid in
    (dir, request ~dir ~pid (if timeline then "on" else "sparse"))
  with
  | dir, file -> Ok (watch_attached ~dir ~pid ~seconds file)
  | exception Unix.Unix_error (error, _, _) ->
    Error { status = 1; why = Printf.sprintf "process %d: %s" pid (Unix.error_message error) }
  | exception Sys_error reason -> Error { status = 1; why = "cannot ask it to trace: " ^ reason }
