(* One event of the runtime's, of a type of its own: its int payload would be cut to 32 bits, and
   its spans tell no tasks apart. On the wire an event is up to three words: the code, with the
   first field above it, and the other fields; a name is its word and its text.

   [on] is read everywhere and written seldom. Names and sites are one list, which grows by
   compare-and-set; an entry is told when it comes, and all of them when the tracing begins. *)

include Word

external thread : unit -> int = "muster_trace_thread" [@@noalloc]
external now : unit -> int = "muster_trace_now" [@@noalloc]

(* {2 The wire} *)

let words =
  [|
    "fork"; "begin"; "end"; "steal"; "busy"; "idle"; "park"; "leave"; "wait"; "resume"; "region";
    "region-end"; "job"; "counts"; "sampling"; "name"; "budget"; "spin"; "alone";
  |]
[@@ocamlformat "disable"]

let put buffer at n = Bytes.set_int64_le buffer at (Int64.of_int n)
let bits = 5
let a_name = 15

let put3 buffer code a b c =
  put buffer 0 (code lor (a lsl bits));
  put buffer 8 b;
  put buffer 16 c;
  if c <> 0 then 24 else if b <> 0 then 16 else 8

(* The most that the runtime takes is 1,024 bytes. *)
let longest_text = 512

let put_name buffer id text =
  let length = Int.min longest_text (String.length text) in
  put buffer 0 (a_name lor (id lsl bits));
  Bytes.blit_string text 0 buffer 8 length;
  8 + length

let encode buffer event =
  let put3 = put3 buffer in
  match event with
  | Fork { task; parent; site } -> put3 0 task parent site
  | Begin { task } -> put3 1 task 0 0
  | End { task; back } -> put3 2 task back 0
  | Steal { victim } -> put3 3 victim 0 0
  | Busy { pool; worker; thread } -> put3 4 pool worker thread
  | Idle -> put3 5 0 0 0
  | Park -> put3 6 0 0 0
  | Leave -> put3 7 0 0 0
  | Wait { task; reason; name } -> put3 8 task reason name
  | Resume { task; reason; ns } -> put3 9 task reason ns
  | Region { workers } -> put3 10 workers 0 0
  | Region_end -> put3 11 0 0 0
  | Job { task; queued } -> put3 12 task queued 0
  | Counts { tasks; forks; steals } -> put3 13 tasks forks steals
  | Sampling { every } -> put3 14 every 0 0
  | Budget { size; lent } -> put3 16 size lent 0
  | Spin { ns } -> put3 17 ns 0 0
  | Alone { ns; site } -> put3 18 ns site 0
  | Name { id; text } -> put_name buffer id text

let of_code code a b c =
  match code with
  | 0 -> Fork { task = a; parent = b; site = c }
  | 1 -> Begin { task = a }
  | 2 -> End { task = a; back = b }
  | 3 -> Steal { victim = a }
  | 4 -> Busy { pool = a; worker = b; thread = c }
  | 5 -> Idle
  | 6 -> Park
  | 7 -> Leave
  | 8 -> Wait { task = a; reason = b; name = c }
  | 9 -> Resume { task = a; reason = b; ns = c }
  | 10 -> Region { workers = a }
  | 11 -> Region_end
  | 12 -> Job { task = a; queued = b }
  | 13 -> Counts { tasks = a; forks = b; steals = c }
  | 14 -> Sampling { every = a }
  | 16 -> Budget { size = a; lent = b }
  | 17 -> Spin { ns = a }
  | 18 -> Alone { ns = a; site = b }
  | _ -> invalid_arg (Printf.sprintf "Muster_trace: %d is no event" code)

let get buffer length at = if at < length then Int64.to_int (Bytes.get_int64_le buffer at) else 0

let decode buffer length =
  let first = get buffer length 0 in
  let code = first land ((1 lsl bits) - 1) and a = first asr bits in
  if code = a_name then Name { id = a; text = Bytes.sub_string buffer 8 (length - 8) }
  else of_code code a (get buffer length 8) (get buffer length 16)

type Runtime_events.User.tag += Trace

let typ = Runtime_events.Type.register ~encode ~decode
let user_event = Runtime_events.User.register "muster.trace" Trace typ
let emit event = Runtime_events.User.write user_event event

let add_callback f callbacks =
  let call ring at user event =
    match Runtime_events.User.tag user with Trace -> f ring at event | _ -> ()
  in
  Runtime_events.Callbacks.add_user_event typ call callbacks

let to_ints event =
  let buffer = Bytes.make 24 '\000' in
  let length = encode buffer event in
  let first = get buffer length 0 in
  let rec without_zeros = function 0 :: rest -> without_zeros rest | ints -> List.rev ints in
  ( words.(first land ((1 lsl bits) - 1)),
    without_zeros [ get buffer length 16; get buffer length 8; first asr bits ] )

let of_ints word ints =
  let nth n = Option.value (List.nth_opt ints n) ~default:0 in
  match Array.find_index (String.equal word) words with
  | Some code when code <> a_name -> of_code code (nth 0) (nth 1) (nth 2)
  | _ -> invalid_arg (Printf.sprintf "Muster_trace.of_ints: %S is no event" word)

(* The command that starts a program has the runtime begin its events. *)
let setting = Sys.getenv_opt "MUSTER_TRACE"
let on = Atomic.make (setting = Some "1" || setting = Some "sparse")
let[@inline] is_on () = Atomic.get on

(* {2 Names} *)

(* The key is a code, or 0 for a name. *)
type entry = { id : int; code : int; text : string }

let known : entry list Atomic.t = Atomic.make []
let tell { id; text; _ } = emit (Name { id; text })

(* The same key may come twice at once: then both entries stay. *)
let rec add code text =
  let all = Atomic.get known in
  let id = match all with [] -> 1 | { id; _ } :: _ -> id + 1 in
  let entry = { id; code; text } in
  if Atomic.compare_and_set known all (entry :: all) then begin
    tell entry;
    id
  end
  else add code text

(* Few, so that a list will do for names; a domain has a table for codes. *)
let find_or_add code is_it ~text =
  match List.find_opt is_it (Atomic.get known) with
  | Some { id; _ } -> id
  | None -> add code (text ())

let name text = find_or_add 0 (fun it -> it.code = 0 && it.text = text) ~text:(fun () -> text)

(* {2 Tasks} *)

(* Where a domain hands out tasks, and waits, faster than one in [grain] ns, to trace each would be
   felt: a task costs 0.4 us here, and 1.2 us of the program that reads, often on the same CPUs. So
   it traces one of [sparse] once [row] have come in less than [row] times that, and all of them
   once fewer have come in so long. *)
let row = 1024
let sparse = 64
let grain_of wish = if wish = "sparse" then 60_000 else 15_000
let grain = Atomic.make (grain_of (Option.value setting ~default:""))

let by_place = -1

type own = {
  sites : (int, int) Hashtbl.t;  (** by code *)
  mutable count : int;  (** tasks handed out, and waits *)
  mutable every : int;
  mutable since : int;
  mutable first : int;  (** the count then *)
}

let own =
  let fresh () = { sites = Hashtbl.create 64; count = 0; every = 1; since = now (); first = 0 } in
  Domain.DLS.new_key fresh

let site own code place =
  match Hashtbl.find_opt own.sites code with
  | Some id -> id
  | None ->
    let id = find_or_add code (fun it -> it.code = code) ~text:place in
    Hashtbl.replace own.sites code id;
    id

let look own =
  let at = now () in
  let are_many = own.count - own.first >= row in
  let is_long = at - own.since >= row * Atomic.get grain in
  if are_many || is_long then begin
    let every = if is_long then 1 else sparse in
    own.since <- at;
    own.first <- own.count;
    if every <> own.every then emit (Sampling { every });
    own.every <- every
  end

let next = Atomic.make 1

(* Not each 64th: where a look at a lock and a wait for it take turns, it would be of one kind. *)
let scattered count = (count * 0x1E3779B97F4A7C15) lsr 40

let is_due own =
  own.count <- own.count + 1;
  let among = if own.every = 1 then row else sparse in
  if own.count land (among - 1) = 0 then look own;
  scattered own.count land (own.every - 1) = 0

let takes_wait () = is_due (Domain.DLS.get own)

let task ~parent ~code ~place =
  let own = Domain.DLS.get own in
  if not (is_due own) then 0
  else
    let task = Atomic.fetch_and_add next 1 in
    let site = if code = by_place then name (place ()) else site own code place in
    emit (Fork { task; parent; site });
    task

(* {2 On and off} *)

let set flag =
  if flag <> is_on () then begin
    if flag then begin
      Runtime_events.start ();
      Runtime_events.resume ();
      List.iter tell (List.rev (Atomic.get known))
    end;
    Atomic.set on flag;
    if not flag then Runtime_events.pause ()
  end

(* The file lies where the rings will: a process that can remove it can write them there, too. *)
external process : unit -> int = "muster_trace_process" [@@noalloc]

let request () =
  let folder = Option.value (Sys.getenv_opt "OCAML_RUNTIME_EVENTS_DIR") ~default:"." in
  Filename.concat folder (Printf.sprintf "%d.muster" (process ()))

let every_ns = 250_000_000
let last_look = Atomic.make 0

let heed file =
  match In_channel.with_open_bin file In_channel.input_all with
  | wish ->
    Sys.remove file;
    let wish = String.trim wish in
    Atomic.set grain (grain_of wish);
    set (wish = "on" || wish = "sparse")
  | exception Sys_error _ -> ()

let look_for_request () =
  let last = Atomic.get last_look and at = now () in
  if at - last > every_ns && Atomic.compare_and_set last_look last at then begin
    let file = request () in
    if Sys.file_exists file then try heed file with Sys_error _ -> ()
  end
