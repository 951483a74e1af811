(* A worker's share of a region (Region). It is a fiber of its own, of no task. At the bottom of a
   resident's stack that cannot suspend; on top of another fiber it can (Run.serve).

   {v posted --begin_job--> the mailbox shows the job --end_job--> idle
                               \--free_mailbox--> counted as late --end_job--> not counted v}

   [own.in_share] tells whether the mailbox still shows the job whose share the worker runs. *)

module P = Place

(* {2 The mailbox} *)

let wake_all_in (pool : P.pool) () = Parking.wake_all pool.parking

let wake_posters (pool : P.pool) =
  if Atomic.get pool.posting > 0 then Outcome.firmly wake_all_in pool ()

(* The mailbox shows the job until its share is done, unless the worker has to wait meanwhile: then
   other callers may need the mailbox, and the job counts the share as late. *)
let go_on_late (w : P.t) =
  let { Mailbox.report; from; _ } = w.mailbox in
  w.own.in_share <- false;
  ignore (Atomic.fetch_and_add report.late 1);
  Mailbox.free w.mailbox;
  (* The region's caller waits no longer for this worker, and may run shares that none has begun. *)
  ignore (Parking.wake w.pool.parking from);
  wake_posters w.pool

let[@inline] free_mailbox (w : P.t) = if w.own.in_share then go_on_late w

(* [w]'s mailbox showed the job. A signal's handler may have come since, and served it. *)
let[@inline] begin_job (w : P.t) job =
  Mailbox.try_begin w.mailbox job
  &&
  (w.own.in_share <- true;
   true)

let end_job (w : P.t) ~here (report : Mailbox.report) ~from =
  let frees = here && w.own.in_share in
  if frees then begin
    w.own.in_share <- false;
    Mailbox.free w.mailbox
  end
  else ignore (Atomic.fetch_and_add report.late (-1));
  ignore (Parking.wake w.pool.parking from);
  if frees then wake_posters w.pool

let go_away (w : P.t) =
  free_mailbox w;
  Fiber.note_checked w;
  Atomic.set w.away true;
  if not (Mailbox.is_idle w.mailbox) then Parking.wake_all w.pool.parking

let come_back (w : P.t) = Atomic.set w.away false

(* {2 The function} *)

(* An asynchronous exception that comes as one is noted is raised afterwards. *)
let note (report : Mailbox.report) index exn =
  let failure = Outcome.caught exn in
  let index = Outcome.index_of failure index in
  match Leftmost.note report.failures index failure with
  | () -> ()
  | exception exn ->
    Leftmost.note report.failures index failure;
    raise exn

(* The report lies on a cache line of the caller's, which another worker touches here only: to fetch
   that line would make an empty region a third longer. *)
let note_failure share index report = try share index with exn -> note report index exn

let run_in fiber (w : P.t) index share report =
  let before = w.own.fiber in
  Fiber.switch w fiber;
  match note_failure share index report with
  | () -> Fiber.switch w before
  | exception exn ->
    Fiber.switch w before;
    raise exn

let run w index share report =
  run_in (Fiber.plain w ~handled:false) w index share report
