(* A region: one fork of the whole pool (Fork Union's protocol, with exceptions, nesting and
   workers that may be busy).

   Each worker has a mailbox on a cache line of its own, through which everything goes:

   {v Idle --caller posts--> Job --worker begins--> Busy --worker is done--> Idle
                             Job --caller takes it back--> Idle
                             Job, ordered ------------worker is done---------> Idle v}

   So a region costs each worker two trips of one line, and one more where the job may be taken
   back. The caller runs its own share, then takes back each share that nobody has begun
   ([revoke]), so it never waits for a worker that has other things to do. A broadcast must
   reach every worker: it takes back nothing but the shares of absent ones. A worker is absent
   while its place is free or its thread works in another pool ([away], set after its mailbox
   was freed; having been away once, it begins every job by compare-and-set).

   Callers may be several. One that finds a mailbox taken does the share itself or, in a
   broadcast, waits ([posting] counts it, for whoever frees a mailbox to wake it). Whoever waits
   serves its own mailbox, having freed it first if it waits within a share
   (Run.free_mailbox), so regions that need each other's workers all end. Served on top of another
   strand, a share has a fiber, in which it can wait for what that strand has to do first; it counts
   as late then, and ends on whatever worker. *)

open Place
open Publish
open Run
open Worker

let absent v = (v.index = 0 && Atomic.get v.owner = 0) || Atomic.get v.away

let try_post w v job =
  Atomic.get v.mailbox == Idle
  && Atomic.compare_and_set v.mailbox Idle job
  &&
  (ignore (Parking.wake w.pool.parking v.index);
   true)

let wait w found =
  pause w ~found:(fun () -> found () || Atomic.get w.mailbox != Idle);
  serve w

(* Does what an absent worker's mailbox asks for, be it another caller's: that caller may be
   this very thread, further down its stack. *)
let stand_in w v =
  match Atomic.get v.mailbox with
  | Idle | Gone | Busy _ -> ()
  | Job job as posted ->
    let ended ~here:_ =
      ignore (Atomic.fetch_and_add job.late (-1));
      ignore (Parking.wake w.pool.parking job.from)
    in
    let take () =
      ignore (Atomic.fetch_and_add job.late 1);
      Atomic.compare_and_set v.mailbox posted Idle
      ||
      (ended ~here:true;
       false)
    in
    let share index =
      wake_posters w.pool;
      job.share index
    in
    let records = job.backtrace in
    ignore (run_share_on_top w v.index share job.failures ~records ~take ~ended)

let await_mailbox w v =
  let is_free () =
    match Atomic.get v.mailbox with
    | Idle -> true
    | Gone -> Atomic.get v.owner = 0
    | Job _ | Busy _ -> false
  in
  let { posting; _ } = w.pool and found () = is_free () || absent v in
  (* From here to the handler no exception strikes. *)
  ignore (Atomic.fetch_and_add posting 1);
  match wait w found with
  | () -> ignore (Atomic.fetch_and_add posting (-1))
  | exception exn ->
    ignore (Atomic.fetch_and_add posting (-1));
    raise exn

(* No domain was refused, but none came: one that ends had let go of its place and was still counted, or the need
   was over before it was looked at. *)
let may_yet_come pool =
  let taken = count_places pool (fun v -> v.resident && is_taken v) in
  let residents = Atomic.get pool.residents in
  Atomic.get pool.refused = 0
  && (not (Atomic.get pool.closing))
  && (residents < Atomic.get pool.size - 1 || residents > taken)

(* Whether there is, or will soon be, a resident. So often at most it is tried again after a millisecond. *)
let rec summon ?(tries = 20) pool v =
  Atomic.get v.owner <> 0
  || begin
    need pool (Atomic.get pool.size - 1) ~ms:100;
    let before = Atomic.get pool.residents in
    pool.hire pool;
    if Atomic.get v.owner <> 0 || Atomic.get pool.residents > before then summon pool v
    else
      tries > 0 && may_yet_come pool
      && begin
        ignore Machine.Sleeper.(sleep (create ()) 1);
        summon ~tries:(tries - 1) pool v
      end
  end

(* Whether there is somebody to whom the job could be posted. *)
let rec post w v job =
  try_post w v job
  ||
  match Atomic.get v.mailbox with
  | Gone ->
    summon w.pool v
    &&
    (await_mailbox w v;
     post w v job)
  | Idle | Job _ | Busy _ ->
    if absent v then stand_in w v else await_mailbox w v;
    post w v job

type status = Waiting | Running | Over

let status v job ~ordered =
  match Atomic.get v.mailbox with
  | seen when seen == job -> if ordered && not (absent v) then Running else Waiting
  | Busy seen when seen == job -> Running
  | Idle | Gone | Job _ | Busy _ -> Over

type t = {
  share : int -> unit;
  failures : Outcome.failure Leftmost.t;
  revoke : bool;
  to_the_end : bool;  (** no exception ends the call before every share has ended *)
}

(* [index] is not always the caller's own: it stands in for others. *)
let run_as index w { share; failures; _ } = run_share w index share failures

let rec settle w v job ~ordered t =
  match status v job ~ordered with
  | Over -> ()
  | Waiting when t.revoke || absent v ->
    if Atomic.compare_and_set v.mailbox job Idle then begin
      wake_posters w.pool;
      run_as v.index w t
    end
    else settle w v job ~ordered t
  | (Waiting | Running) as was ->
    wait w (fun () -> status v job ~ordered <> was || (was = Waiting && absent v));
    settle w v job ~ordered t

(* For the next region: this one does not wait. *)
let hire_instead pool v = if Atomic.get v.mailbox == Gone then wake_for_work pool
let is_ordered t i = (not t.revoke) && i > 0

(* The workers that the caller has to stand in for, their mailboxes being taken. *)
let rec post_all w t ~upto ~job_for i =
  if i >= upto then []
  else if i = w.index then post_all w t ~upto ~job_for (i + 1)
  else begin
    let v = w.pool.workers.(i) in
    let posted =
      if not t.revoke then post w v (job_for i)
      else
        try_post w v (job_for i)
        ||
        (hire_instead w.pool v;
         false)
    in
    let missed = post_all w t ~upto ~job_for (i + 1) in
    if posted then missed else i :: missed
  end

(* The caller's share of the work, and of the waiting. *)
let take_part w t ~upto ~job_for =
  let missed = post_all w t ~upto ~job_for 0 in
  if w.index < upto then run_as w.index w t;
  for i = 0 to upto - 1 do
    if i <> w.index then
      if missed <> [] && List.mem i missed then run_as i w t
      else settle w w.pool.workers.(i) (job_for i) ~ordered:(is_ordered t i) t
  done

(* After the last mailbox: a share is counted as late before its mailbox is freed. It may have
   suspended, and wait for a worker to go on with it: perhaps for this one. *)
let await_late w late = help w ~ready:(fun () -> Atomic.get late = 0) ~register:ignore

(* What nobody has begun is not done any more. *)
let rec break_off w v job ~ordered =
  match status v job ~ordered with
  | Over -> ()
  | Waiting ->
    if Atomic.compare_and_set v.mailbox job Idle then wake_posters w.pool
    else break_off w v job ~ordered
  | Running ->
    wait w (fun () -> status v job ~ordered <> Running);
    break_off w v job ~ordered

let rec break_all_off w t ~upto ~job_for late =
  try
    for i = 0 to upto - 1 do
      if i <> w.index then break_off w w.pool.workers.(i) (job_for i) ~ordered:(is_ordered t i)
    done;
    await_late w late
  with _ when t.to_the_end -> break_all_off w t ~upto ~job_for late

(* An exception here is asynchronous, since those of shares are kept. It may have come between any
   two steps, but mailboxes and [late] tell all. *)
let fork w t ~upto =
  let late = Atomic.make 0 in
  let job ordered =
    let backtrace = Machine.backtrace_status () in
    Job { share = t.share; from = w.index; backtrace; ordered; failures = t.failures; late }
  in
  let residents_job = job (not t.revoke) in
  (* A visitor may leave: its share can always be taken back. *)
  let visitors_job = if w.index = 0 then Idle else job false in
  let job_for i = if i = 0 then visitors_job else residents_job in
  match
    take_part w t ~upto ~job_for;
    await_late w late
  with
  | () -> ()
  | exception exn ->
    let failure = Outcome.caught exn in
    break_all_off w t ~upto ~job_for late;
    Outcome.raise failure

let count w = w.own.counts.regions <- w.own.counts.regions + 1

let run ?(to_the_end = false) w ~revoke ~workers share =
  Context.check_at w;
  Staff.look_if_alone w;
  let t = { share = Context.carry w share; failures = Leftmost.create (); revoke; to_the_end } in
  count w;
  fork w t ~upto:workers;
  Context.reraise t.failures

let size w = Atomic.get w.pool.size

(* A share of the caller's, run as in a region, but nobody else's. A guest stands in for worker
   0, as it would there. *)
let alone w share =
  let failures = Leftmost.create () in
  let index = if w.index < Atomic.get w.pool.size then w.index else 0 in
  run_share w index (Context.carry w share) failures;
  Context.reraise failures
