(* A region: one fork of the whole pool (Fork Union's protocol, with exceptions, nesting and workers
   that may be busy).

   The caller posts a job to the mailbox of each other worker (Mailbox), runs its own share, and
   then settles with each worker: it takes back a share that its worker has not begun ([revoke]),
   and waits for one that has begun. So it never waits for a worker that has other things to do.
   Every job begins by one compare-and-set, of its worker or of the caller that takes it back.

   A worker may have no mailbox to post to, as it has yet to come or has another caller's job. Then
   its share is a task in the caller's deque, for any worker that comes in time. A broadcast has to
   reach every worker: it waits for mailboxes, and takes back the shares of absent workers only. A
   worker is absent while its slot is free, or its thread works in another pool ([away], set after
   its mailbox was freed).

   Callers may be several. One that waits for a mailbox is counted in [posting], so that a worker
   that frees one wakes it. A waiting caller serves its own mailbox; if it waits within a share, it
   has freed that mailbox first. So regions that need each other's workers all end. A share that is
   served on top of another fiber has its own. It counts as late then, and may end on any worker. *)

module P = Place

type t = {
  letter : Mailbox.letter;
  job : Mailbox.job;
  shares : int;
  revoke : bool;
  to_the_end : bool;  (** no exception ends the call before every share has ended *)
  mutable offered : (int * unit Promise.t) list;  (** shares that are tasks, the newest first *)
  mutable broken_off : bool;  (** an exception struck: a share that has not begun is left out *)
}

let absent (v : P.t) = (v.index = 0 && Atomic.get v.owner = 0) || Atomic.get v.away

(* [v] may sleep, or wait to leave (Resident.lock_mailbox). *)
let tell (w : P.t) (v : P.t) = ignore (Parking.wake w.pool.parking v.index)

(* Others may need this one's mailbox meanwhile. *)
let wait (w : P.t) found =
  Share.free_mailbox w;
  Worker.pause w ~found:(fun () -> found () || Mailbox.is_posted w.mailbox);
  Run.serve w

(* {2 Posting} *)

let try_post w (v : P.t) t =
  Mailbox.post v.mailbox t.job t.letter
  &&
  (tell w v;
   true)

let no_longer posting = ignore (Atomic.fetch_and_add posting (-1))

(* Until it is idle, or nobody is there to empty it. *)
let await_mailbox (w : P.t) (v : P.t) =
  let found () =
    Mailbox.is_idle v.mailbox
    || absent v
    || (Mailbox.is_gone v.mailbox && Atomic.get v.owner = 0)
  in
  let await () = wait w found in
  (* Unbroken until the handler. *)
  ignore (Atomic.fetch_and_add w.pool.posting 1);
  Outcome.finally no_longer w.pool.posting await ()

(* Whether there is, or will soon be, a resident. One that ends lets go of its slot while it still
   counts, and none comes in its stead until then: hence the tries. *)
let rec summon ?(tries = 20) (pool : P.pool) (v : P.t) =
  let is_there () = Atomic.get v.owner <> 0 in
  is_there ()
  || begin
    Budget.need pool (Atomic.get pool.size - 1) ~ms:100;
    Sleep.hire pool;
    is_there ()
    || tries > 0
       && Atomic.get pool.refused = 0
       && (not (Atomic.get pool.closing))
       && begin
         Machine.sleep_ms 1;
         summon ~tries:(tries - 1) pool v
       end
  end

(* Posts a broadcast's job; false if there is nobody to post it to. *)
let rec post (w : P.t) (v : P.t) t =
  (not (absent v))
  && (try_post w v t
     || ((not (Mailbox.is_gone v.mailbox)) || summon w.pool v)
        && begin
          await_mailbox w v;
          post w v t
        end)

(* The shares for which there was no mailbox. *)
let rec post_all (w : P.t) t i =
  if i = t.shares then []
  else
    let v = (P.workers w.pool).(i) in
    let posted = i = w.index || if t.revoke then try_post w v t else post w v t in
    let missed = post_all w t (i + 1) in
    if posted then missed else i :: missed

(* {2 Settling with a worker} *)

let progress t (v : P.t) = Mailbox.progress v.mailbox t.job

(* [index] is not always the caller's own: it stands in for others. *)
let run_as index w { letter = { share; report; _ }; _ } = Share.run w index share report

let take_back (w : P.t) (v : P.t) t =
  Mailbox.try_begin v.mailbox t.job
  && begin
    Mailbox.free v.mailbox;
    tell w v;
    Share.wake_posters w.pool;
    true
  end

(* A mailbox to which nothing was posted shows some other job, or none: the share is over. *)
let rec settle w (v : P.t) t =
  match progress t v with
  | Over -> ()
  | Waiting when t.revoke || t.broken_off || absent v ->
    if not (take_back w v t) then settle w v t
    else if not t.broken_off then run_as v.index w t
  | (Waiting | Running) as was ->
    wait w (fun () -> progress t v <> was || (was = Waiting && absent v));
    settle w v t

let settle_all (w : P.t) t =
  let workers = P.workers w.pool in
  for i = 0 to t.shares - 1 do
    settle w workers.(i) t
  done

(* {2 Shares that are tasks}

   A worker may take one on top of a fiber for which the share will wait: as a task, the share can
   suspend. The caller cannot: a region's caller stays on its worker. *)

(* It is noted before a thief can have it, so that an exception in between leaves none behind. *)
let offer w t i =
  let { share; report; _ } : Mailbox.letter = t.letter in
  let p = Promise.(make nowhere (fun () -> Share.note_failure share i report)) in
  t.offered <- (i, p) :: t.offered;
  Publish.offer w ~wake:true (Promise.any p)

(* Whether the newest is the caller's to run; if not, it has ended. Unbroken from the claim to the
   next step: a task that its caller has claimed never ends. *)
let take_offered w t p ~rest =
  let claimed = Fork.take_back p in
  if not claimed then Caller.wait_as w p;
  t.offered <- rest;
  claimed

let rec settle_offered w t =
  match t.offered with
  | [] -> ()
  | (i, p) :: rest ->
    let claimed = take_offered w t p ~rest in
    if not t.broken_off then if claimed then run_as i w t else Fork.result p;
    settle_offered w t

(* {2 The call} *)

(* After the last mailbox: a share is counted as late before its mailbox is freed. It may have
   suspended, and wait for a worker to go on with it: perhaps for this one. *)
let await_late w { letter = { report; _ }; _ } =
  Worker.help w ~ready:(fun () -> Atomic.get report.late = 0) ~register:ignore

let take_part (w : P.t) t =
  let missed = post_all w t 0 in
  let others_may_come = not (t.revoke && P.alone w) in
  if others_may_come then List.iter (offer w t) missed;
  if w.index < t.shares then run_as w.index w t;
  settle_all w t;
  if others_may_come then settle_offered w t else List.iter (fun i -> run_as i w t) missed;
  await_late w t

(* The last call is no tail call: a function that ends in one of itself begins with a look for
   signals, and an exception that is raised there would go past the handler. *)
let rec break_off w t =
  try
    t.broken_off <- true;
    settle_all w t;
    settle_offered w t;
    await_late w t
  with _ when t.to_the_end ->
    break_off w t;
    ()

(* An exception here is asynchronous, since those of shares are kept. It may have come between any
   two steps, but mailboxes, [offered] and [late] tell all. *)
let fork w t = Outcome.on_failure (fun () -> take_part w t) (fun _ -> break_off w t)

let run ?(to_the_end = false) (w : P.t) ~revoke ~workers share =
  Fiber.check_at w;
  if Atomic.get w.look <> 0 then Load.look w;
  Tell.region workers;
  let report = Mailbox.report () in
  let share = Fiber.carry w share and backtrace = Machine.backtrace_status () in
  let counts = w.own.counts in
  Counts.add_region counts;
  let job = Mailbox.job ~from:w.index ~nth:counts.regions in
  let letter = Mailbox.letter share report ~from:w.index ~backtrace in
  let offered = [] and broken_off = false in
  fork w { letter; job; shares = workers; revoke; to_the_end; offered; broken_off };
  Tell.region_end ();
  Fiber.reraise report.failures

(* A further caller stands in for worker 0, as in a region. *)
let alone (w : P.t) share =
  let report = Mailbox.report () in
  let index = if w.index < Atomic.get w.pool.size then w.index else 0 in
  Share.run w index (Fiber.carry w share) report;
  Fiber.reraise report.failures
