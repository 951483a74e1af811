module Trace = Muster_trace.Trace

type seen = Nothing | Rings | Muster

type t = {
  outcome : Recording.outcome;
  seen : seen;
  measures : Measures.t;
  cpu : float;
  cpus : float;
  throttled : float;
  lost : int;
  interrupted : bool;
  recording : Recording.t Lazy.t;
}

type refusal = { status : int; why : string }

(* {2 Watching} *)

type watch = {
  dir : string;
  pid : int;
  since : int;
  attached : bool;
  mutable account : Account.t;
  mutable rings : Rings.t option;
  mutable tried : string list;
  mutable next_look : int;
  mutable samples : Recording.sample list;
}

let account ~attached ~since = Account.make ~cpus:(Procfs.cpus ()) ~attached ~since

let watch ?(attached = false) ~dir pid =
  let since = Trace.now () in
  let account = account ~attached ~since in
  { dir; pid; since; attached; account; rings = None; tried = []; next_look = 0; samples = [] }

let ends_in_events file = Filename.check_suffix file ".events"

(* The program may be started by another one (a shell, dune), which may have a ring of its own: the
   one that counts is the first that tells of Muster. *)
let look_for_rings w =
  if not (Account.has_muster w.account) then
    let files = try Array.to_list (Sys.readdir w.dir) with Sys_error _ -> [] in
    let is_new file = ends_in_events file && not (List.mem file w.tried) in
    let own = Printf.sprintf "%d.events" w.pid in
    let is_it file = if w.attached then file = own else is_new file in
    match List.find_opt is_it files with
    | Some file when w.rings = None || not w.attached -> (
      let pid = Option.value (int_of_string_opt (Filename.chop_suffix file ".events")) ~default:0 in
      match Rings.open_ ~dir:w.dir ~pid ~since:w.since with
      | Ok rings ->
        w.tried <- file :: w.tried;
        w.rings <- Some rings;
        w.account <- account ~attached:w.attached ~since:w.since
      | Error _ -> ())
    | _ -> ()

let sample_every = 20_000_000
let prompt = 2_000_000

let take_sample w now =
  w.next_look <- now + sample_every;
  let threads = Procfs.threads w.pid in
  (* Of a sample that took long nobody knows when each thread slept. *)
  let awake it = { it with Account.sleeps = None } in
  let threads = if Trace.now () - now > prompt then List.map awake threads else threads in
  Option.iter (fun rings -> Rings.sample rings ~at:now threads) w.rings;
  let short { Account.thread; cpu; queue; _ } = { Recording.thread; cpu; queue } in
  let sample =
    { Recording.at = now - w.since; threads = List.map short threads; throttled = Procfs.throttled () }
  in
  if List.length threads > 0 then w.samples <- sample :: w.samples
[@@ocamlformat "disable"]

let poll w =
  let now = Trace.now () in
  look_for_rings w;
  Option.iter (fun rings -> Rings.poll rings w.account ~now) w.rings;
  if now >= w.next_look then take_sample w now

let pause = 0.005

let recording w ~program ~outcome ~seen ~now =
  Gc.set { (Gc.get ()) with space_overhead = 80 };
  let timelines, names, left_out =
    Option.fold w.rings ~none:([], [], 0) ~some:(Rings.recorded ~since:w.since)
  in
  {
    Recording.program;
    outcome;
    ocaml_rings = seen <> Nothing;
    duration = now - w.since;
    cpus = Procfs.cpus ();
    names;
    timelines;
    samples = List.rev w.samples;
    lost = Option.fold w.rings ~none:0 ~some:Rings.lost;
    left_out;
    measures = [];
    verdict = [];
  }

let throttled samples =
  match (samples, List.rev samples) with
  | { Recording.throttled = Some last; _ } :: _, { throttled = Some first; _ } :: _ ->
    float (last - first) /. 1e9
  | _ -> 0.

let result w ~program ~outcome ~cpu ~interrupted =
  let now = Trace.now () in
  look_for_rings w;
  Option.iter (fun rings -> Rings.drain rings w.account ~now) w.rings;
  let seen =
    if w.rings = None then Nothing else if Account.has_muster w.account then Muster else Rings
  in
  {
    outcome;
    seen;
    measures = Account.measures w.account;
    cpu;
    cpus = Procfs.cpus ();
    throttled = throttled w.samples;
    lost = Option.fold w.rings ~none:0 ~some:Rings.lost;
    interrupted;
    recording = lazy (recording w ~program ~outcome ~seen ~now);
  }

(* {2 A program of our own} *)

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

let environment ~dir ~alone =
  let name, value = run_parameters () in
  let set =
    [
      (name, value);
      ("MUSTER_TRACE", "1");
      ("OCAML_RUNTIME_EVENTS_START", "1");
      ("OCAML_RUNTIME_EVENTS_DIR", dir);
      ("OCAML_RUNTIME_EVENTS_PRESERVE", "1");
    ]
    @ if alone then [ ("MUSTER_DOMAINS", "1") ] else []
  in
  let add lines (name, value) = with_variable name value lines in
  Array.of_list (List.fold_left add (Array.to_list (Unix.environment ())) set)

let outcome_of : Unix.process_status -> Recording.outcome = function
  | WEXITED n -> Exited n
  | WSIGNALED n | WSTOPPED n -> Signalled n

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
  let before = [ set Sys.sigint interrupt; set Sys.sigterm pass ] in
  let restore () = List.iter (fun (signal, it) -> Sys.set_signal signal it) before in
  Fun.protect ~finally:restore (fun () -> f interrupts)

let rec await w =
  match Unix.waitpid [ WNOHANG ] w.pid with
  | 0, _ ->
    poll w;
    Unix.sleepf pause;
    await w
  | _, status -> status
  | exception Unix.Unix_error (EINTR, _, _) -> await w

let start ~dir ~alone program =
  let environment = environment ~dir ~alone in
  let spawn program ~input ~output ~errors =
    Unix.create_process_env (List.hd program) (Array.of_list program) environment input output
      errors
  in
  if not alone then
    spawn program ~input:Unix.stdin ~output:Unix.stdout ~errors:Unix.stderr
  else begin
    let null = Unix.openfile "/dev/null" [ O_RDWR; O_CLOEXEC ] 0 in
    Fun.protect
      ~finally:(fun () -> Unix.close null)
      (fun () ->
        let spawn = spawn ~input:null ~output:null ~errors:null in
        try spawn ("taskset" :: "-c" :: Procfs.first_cpu () :: program)
        with Unix.Unix_error _ -> spawn program)
  end

(* What lives long here are tables: to collect seldom costs little, and the program needs the CPUs. *)
let collect_seldom () =
  Gc.set { (Gc.get ()) with minor_heap_size = 1_048_576; space_overhead = 400 }

let watched ~dir ~alone program =
  collect_seldom ();
  let before = children's_cpu () in
  match start ~dir ~alone program with
  | exception Unix.Unix_error (error, _, _) ->
    let status = if error = Unix.ENOENT then 127 else 126 in
    Error { status; why = Printf.sprintf "cannot start %s: %s" (List.hd program) (Unix.error_message error) }
  | pid ->
    let w = watch ~dir pid in
    with_signals pid (fun interrupts ->
        let outcome = outcome_of (await w) in
        let cpu = children's_cpu () -. before in
        Ok (result w ~program ~outcome ~cpu ~interrupted:(!interrupts > 0)))
[@@ocamlformat "disable"]

let remove dir =
  let remove file = try Sys.remove (Filename.concat dir file) with Sys_error _ -> () in
  try
    Array.iter remove (Sys.readdir dir);
    Sys.rmdir dir
  with Sys_error _ -> ()

let run ?(alone = false) program =
  match Filename.temp_dir "muster" "" with
  | exception Sys_error reason ->
    Error { status = 1; why = Printf.sprintf "no place for the trace (TMPDIR sets it): %s" reason }
  | dir -> Fun.protect ~finally:(fun () -> remove dir) (fun () -> watched ~dir ~alone program)

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
  Out_channel.with_open_bin file (fun oc -> output_string oc wish);
  file

let is_there pid = Sys.file_exists (Printf.sprintf "/proc/%d" pid)

let cpu_of = function
  | [] -> 0.
  | last :: _ as samples ->
    let first = List.nth samples (List.length samples - 1) in
    let total { Recording.threads; _ } =
      List.fold_left (fun n (it : Recording.thread) -> n + it.cpu) 0 threads
    in
    Float.max 0. (float (total last - total first) /. 1e9)

let rec stay w ~until interrupts =
  if is_there w.pid && !interrupts = 0 && Trace.now () < until then begin
    poll w;
    Unix.sleepf pause;
    stay w ~until interrupts
  end

(* The process removes what it has read, a quarter of a second later. *)
let ask_to_stop ~dir ~pid file =
  if is_there pid then begin
    ignore (request ~dir ~pid "off");
    Unix.sleepf 0.6
  end;
  if Sys.file_exists file then Sys.remove file

let watch_attached ~dir ~pid ~seconds file =
  let w = watch ~attached:true ~dir pid in
  let ns = Option.fold seconds ~none:max_int ~some:(fun s -> w.since + int_of_float (s *. 1e9)) in
  let interrupts = ref 0 in
  let note = Sys.Signal_handle (fun _ -> incr interrupts) in
  let before = Sys.signal Sys.sigint note in
  Fun.protect
    ~finally:(fun () ->
      Sys.set_signal Sys.sigint before;
      ask_to_stop ~dir ~pid file)
    (fun () ->
      stay w ~until:ns interrupts;
      let program = [ Printf.sprintf "process %d" pid ] in
      result w ~program ~outcome:Still_running ~cpu:(cpu_of w.samples) ~interrupted:false)

let attach ~pid ~seconds =
  match
    let dir = folder_of ~pid in
    (dir, request ~dir ~pid "on")
  with
  | dir, file -> Ok (watch_attached ~dir ~pid ~seconds file)
  | exception Unix.Unix_error (error, _, _) ->
    Error { status = 1; why = Printf.sprintf "process %d: %s" pid (Unix.error_message error) }
  | exception Sys_error reason -> Error { status = 1; why = "cannot ask it to trace: " ^ reason }
