(* A poll reads one ring after the other, so it may miss an event of an earlier one that is older
   than those that it has of a later one. But all events that were written before the poll began
   are there: so these are handed on, merged by their times, and the rest waits for the next poll.

   The runtime may tell phases that its OCaml type does not know (5.4 has one more than it says):
   they are compared, one by one, and never matched on. *)

open Recording

type item = Event of Recording.event | Counter of string * int

type t = {
  cursor : Runtime_events.cursor;
  mutable callbacks : Runtime_events.Callbacks.t;
  queues : (int * item) Queue.t array;  (** by ring *)
  missed : int array;  (** by ring: words that were overwritten, since when nothing was read *)
  last : int array;  (** by ring: the time of the last event that was read *)
  samples : (int * int * Account.thread list) Queue.t;
  kept : Buffer.t option array;  (** by ring *)
  mutable events : int;
  mutable handed : int;  (** all that is older was handed on *)
  mutable lost : int;
  mutable replaced : int option;  (** since when the program is another one, by [exec], with rings of its own *)
  mutable names : (int * string) list;
  since : int;  (** older events are of an earlier recording *)
}

let rings = Account.rings

let phase (it : Runtime_events.runtime_phase) =
  let is_in = List.exists (fun other -> other = it) in
  if it = EV_MINOR then Some Minor
  else if
    is_in [ EV_STW_API_BARRIER; EV_STW_LEADER; EV_STW_HANDLER; EV_MINOR_LEAVE_BARRIER; EV_INTERRUPT_REMOTE ]
  then Some Stop
  else if
    is_in
      [ EV_MAJOR; EV_MAJOR_GC_STW; EV_MAJOR_FINISH_CYCLE; EV_EXPLICIT_GC_MAJOR; EV_EXPLICIT_GC_FULL_MAJOR;
        EV_EXPLICIT_GC_COMPACT; EV_EXPLICIT_GC_MAJOR_SLICE; EV_COMPACT ]
  then Some Major
  else None
[@@ocamlformat "disable"]

(* A domain that waits for others to stop does slices meanwhile, and tells each turn of that loop,
   three million times a second. These are part of the wait: only the first after a loss counts, and
   says what the domain is at. Other slices lie within a phase that is told. *)
let is_turn (it : Runtime_events.runtime_phase) =
  it = EV_MAJOR_SLICE || it = EV_MAJOR_MARK_OPPORTUNISTIC

let counter (it : Runtime_events.runtime_counter) =
  match it with
  | EV_C_MINOR_PROMOTED -> Some "minor_promoted"
  | EV_C_MINOR_ALLOCATED -> Some "minor_allocated"
  | EV_C_FORCE_MINOR_ALLOC_SMALL -> Some "a full minor heap"
  | EV_C_FORCE_MINOR_MAKE_VECT -> Some "Array.make of young values"
  | EV_C_FORCE_MINOR_SET_MINOR_HEAP_SIZE -> Some "a change of the minor heap"
  | EV_C_REQUEST_MAJOR_ADJUST_GC_SPEED -> Some "memory outside the heap"
  | EV_C_REQUEST_MAJOR_ALLOC_SHR -> Some "allocation in the major heap"
  | EV_C_REQUEST_MINOR_REALLOC_REF_TABLE -> Some "writes of young values into old ones"
  | EV_C_REQUEST_MINOR_REALLOC_CUSTOM_TABLE -> Some "custom blocks"
  | _ -> None

let call (it : Runtime_events.runtime_phase) =
  if it = EV_EXPLICIT_GC_FULL_MAJOR then Some "Gc.full_major"
  else if it = EV_EXPLICIT_GC_MAJOR then Some "Gc.major"
  else if it = EV_EXPLICIT_GC_COMPACT then Some "Gc.compact"
  else if it = EV_EXPLICIT_GC_MINOR then Some "Gc.minor"
  else None

let ns_of at = Int64.to_int (Runtime_events.Timestamp.to_int64 at)

(* A ring is as old as its domain. Where the first event after a loss is older than the recording,
   all that was lost is so, too. *)
let settle_missed t ring ~before =
  let n = t.missed.(ring) in
  t.missed.(ring) <- 0;
  if n > 0 && before >= t.since then begin
    t.lost <- t.lost + n;
    Queue.push (Int.max t.last.(ring) t.handed, Event (Lost n)) t.queues.(ring)
  end

let make_callbacks t =
  let put ring at item =
    let at = ns_of at in
    settle_missed t ring ~before:at;
    t.last.(ring) <- at;
    Queue.push (at, item) t.queues.(ring)
  in
  let gc make ring at it = Option.iter (fun p -> put ring at (Event (make p))) (phase it) in
  let lost ring n = t.missed.(ring) <- t.missed.(ring) + n in
  let counted ring at it n =
    Option.iter (fun name -> put ring at (Counter (name, n))) (counter it)
  in
  let begun ring at it =
    if is_turn it && t.missed.(ring) > 0 then put ring at (Event (Gc Stop));
    gc (fun p -> Gc p) ring at it;
    Option.iter (fun name -> put ring at (Counter (name, 1))) (call it)
  in
  Runtime_events.Callbacks.create ~runtime_begin:begun
    ~runtime_end:(gc (fun p -> Gc_end p))
    ~runtime_counter:counted ~lost_events:lost ()
  |> Muster_trace.Trace.add_callback (fun ring at event -> put ring at (Event (Muster event)))

(* The cursor takes over the sizes that the file begins with, be they written or not yet: eight
   words, none of them 0. *)
let is_set_up ~dir ~pid =
  let file = Filename.concat dir (Printf.sprintf "%d.events" pid) in
  match In_channel.with_open_bin file (fun ic -> really_input_string ic 64) with
  | header ->
    let is_written i = String.get_int64_ne header (8 * i) <> 0L in
    List.for_all is_written (List.init 8 Fun.id)
  | exception (Sys_error _ | End_of_file) -> false

let open_ ~dir ~pid ~since =
  match
    if is_set_up ~dir ~pid then Runtime_events.create_cursor (Some (dir, pid))
    else failwith "the program has no rings yet"
  with
  | cursor ->
    let t =
      {
        cursor;
        callbacks = Runtime_events.Callbacks.create ();
        queues = Array.init rings (fun _ -> Queue.create ());
        missed = Array.make rings 0;
        last = Array.make rings 0;
        samples = Queue.create ();
        kept = Array.make rings None;
        events = 0;
        handed = since;
        lost = 0;
        replaced = None;
        names = [];
        since;
      }
    in
    t.callbacks <- make_callbacks t;
    Ok t
  | exception Failure reason -> Error reason

(* {2 What is kept}

   As bytes, which the collector does not look into: a time, a tag, and the event as in the ring. *)

let phases = [| Minor; Major; Stop |]
let tag_of phase = match phase with Minor -> 1 | Major -> 2 | Stop -> 3
let scratch = Bytes.create 24

let pack buffer at event =
  Buffer.add_int64_ne buffer (Int64.of_int at);
  match event with
  | Gc phase -> Buffer.add_uint8 buffer (tag_of phase)
  | Gc_end phase -> Buffer.add_uint8 buffer (3 + tag_of phase)
  | Lost n ->
    Buffer.add_uint8 buffer 7;
    Buffer.add_int64_ne buffer (Int64.of_int n)
  | Muster event ->
    let length = Muster_trace.Trace.encode scratch event in
    Buffer.add_uint8 buffer (8 + length);
    Buffer.add_subbytes buffer scratch 0 length

let unpack text since =
  let int at = Int64.to_int (String.get_int64_ne text at) in
  let rec from at events =
    if at >= String.length text then List.rev events
    else
      let time = Int.max 0 (int at - since) and tag = String.get_uint8 text (at + 8) in
      let next = at + 9 in
      if tag <= 3 then from next ((time, Gc phases.(tag - 1)) :: events)
      else if tag <= 6 then from next ((time, Gc_end phases.(tag - 4)) :: events)
      else if tag = 7 then from (next + 8) ((time, Lost (int next)) :: events)
      else
        let length = tag - 8 in
        let event = Muster_trace.Trace.decode (Bytes.of_string (String.sub text next length)) length in
        from (next + length) ((time, Muster event) :: events)
  in
  from 0 []
[@@ocamlformat "disable"]

(* {2 In the order of time} *)

let keep t ring at event =
  t.events <- t.events + 1;
  if t.events <= Recording.kept then begin
    if Option.is_none t.kept.(ring) then t.kept.(ring) <- Some (Buffer.create 65_536);
    Option.iter (fun buffer -> pack buffer at event) t.kept.(ring)
  end

let hand_on t account ring (at, item) =
  match item with
  | Event (Muster (Name { id; text })) ->
    t.names <- (id, text) :: List.remove_assoc id t.names;
    Account.name account ~id text
  | _ when at < t.since -> ()
  | Counter (name, n) -> Account.counter account name n
  | Event event ->
    Account.event account ~ring ~at event;
    keep t ring at event

let oldest_time queue = match Queue.peek_opt queue with Some (at, _) -> at | None -> max_int

let rec merge t account live ~before =
  let older best ring =
    if oldest_time t.queues.(ring) < oldest_time t.queues.(best) then ring else best
  in
  match live with
  | [] -> ()
  | first :: rest ->
    let ring = List.fold_left older first rest in
    let at = oldest_time t.queues.(ring) in
    if at < before then begin
      hand_on t account ring (Queue.pop t.queues.(ring));
      merge t account live ~before
    end

let live t = List.filter (fun i -> not (Queue.is_empty t.queues.(i))) (List.init rings Fun.id)

let rec hand_all_on t account ~before =
  match Queue.peek_opt t.samples with
  | Some (at, until, threads) when at < before ->
    ignore (Queue.pop t.samples);
    merge t account (live t) ~before:at;
    Account.sample account ~at ~until threads;
    hand_all_on t account ~before
  | _ -> merge t account (live t) ~before

let is_replaced t = t.replaced <> None

let read t ~now =
  if not (is_replaced t) then
    try ignore (Runtime_events.read_poll t.cursor t.callbacks None)
    with Failure _ ->
      t.replaced <- Some now;
      prerr_endline "muster: the program has replaced itself by another one: the figures are of the time until then."
[@@ocamlformat "disable"]

(* A writer reads the clock, and is there a moment later, or is sent off its CPU in between. *)
let late = 5_000_000

let poll t account ~now =
  read t ~now;
  t.handed <- Int.max t.handed (now - late);
  hand_all_on t account ~before:t.handed

let sample t ~at ~until threads =
  if not (is_replaced t) then Queue.push (at, until, threads) t.samples

let drain t account ~now =
  read t ~now;
  hand_all_on t account ~before:max_int;
  Account.close account ~at:(Option.value t.replaced ~default:now);
  Runtime_events.free_cursor t.cursor

(* {2 The recording} *)

let lost t = t.lost

let recorded t ~since =
  let timeline ring events : timeline =
    let text = Option.fold events ~none:"" ~some:Buffer.contents in
    { ring; events = Array.of_list (unpack text since) }
  in
  let all = Array.to_list (Array.mapi timeline t.kept) in
  let timelines = List.filter (fun (it : timeline) -> it.events <> [||]) all in
  (timelines, t.names, Int.max 0 (t.events - Recording.kept))
