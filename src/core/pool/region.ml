(* A region: one fork of the whole pool (Fork Union's protocol, with exceptions, nesting and workers
   that may be busy).

   Everything goes through the workers' mailboxes, one cache line each (Mailbox): a region costs
   each worker two trips of that line, and one more where the job may be taken back. The caller runs
   its own share, then takes back each share that nobody has begun ([revoke]), so it never waits for
   a worker that has other things to do. Where there is no mailbox to be had, as its worker has yet
   to come or has another caller's job, the share is a task of the caller's. A broadcast must reach
   every worker: it takes back nothing but the shares of absent ones. A worker is absent while its
   place is free or its thread works in another pool ([away], set after its mailbox was freed).
   Every job begins by compare-and-set: its worker's, or that of the caller who takes it back.

   Callers may be several. One that finds a mailbox taken offers the share to anybody or, in a
   broadcast, waits ([posting] counts it, for whoever frees a mailbox to wake it). Whoever waits
   serves its own mailbox, having freed it first if it waits within a share (Run.free_mailbox), so
   regions that need each other's workers all end. Served on top of another strand, a share has a
   fiber, in which it can wait for what that strand has to do first; it counts as late then, and
   ends on whatever worker. *)

module P = Place

let absent (v : P.t) = (v.index = 0 && Atomic.get v.owner = 0) || Atomic.get v.away

type t = {
  letter : Mailbox.letter;
  job : Mailbox.job;
  revoke : bool;
  to_the_end : bool;  (** no exception ends the call before every share has ended *)
}

(* [v] may sleep, or wait to leave (Resident.lock_mailbox). *)
let tell (w : P.t) (v : P.t) = ignore (Parking.wake w.pool.parking v.index)

let try_post w (v : P.t) t =
  Mailbox.post v.mailbox t.job t.letter
  &&
  (tell w v;
   true)

(* Others may need this one's mailbox meanwhile. *)
let wait (w : P.t) found =
  Run.free_mailbox w;
  Worker.pause w ~found:(fun () -> found () || Mailbox.is_posted w.mailbox);
  Run.serve w

(* Does what an absent worker's mailbox asks for, be it another caller's: that caller may be
   this very thread, further down its stack. *)
let take_over w (v : P.t) job ~(into : Mailbox.letter) () =
  Mailbox.try_begin v.mailbox job
  && begin
    Mailbox.read v.mailbox ~into;
    ignore (Atomic.fetch_and_add into.report.late 1);
    Mailbox.free v.mailbox;
    tell w v;
    true
  end

let stand_in (w : P.t) (v : P.t) =
  let job = Mailbox.posted v.mailbox in
  if job <> Mailbox.none then begin
    let letter = Mailbox.blank () in
    let share index =
      Run.wake_posters w.pool;
      letter.share index
    in
    let ended ~here:_ =
      ignore (Atomic.fetch_and_add letter.report.late (-1));
      ignore (Parking.wake w.pool.parking letter.from)
    in
    let take = take_over w v job ~into:letter in
    ignore (Run.run_share_on_top w v.index letter ~take ~share ~ended)
  end

(* Where a mailbox is taken, whoever frees it wakes those who post. *)
let await_mailbox (w : P.t) (v : P.t) =
  let is_free () =
    Mailbox.is_idle v.mailbox || (Mailbox.is_gone v.mailbox && Atomic.get v.owner = 0)
  in
  let can_stand_in () = absent v && Mailbox.is_posted v.mailbox in
  let found () = is_free () || can_stand_in () in
  let no_longer posting = ignore (Atomic.fetch_and_add posting (-1)) in
  let await () = wait w found in
  (* From here to the handler no exception strikes. *)
  ignore (Atomic.fetch_and_add w.pool.posting 1);
  Outcome.finally no_longer w.pool.posting await

(* No domain was refused, but none came: one that ends had let go of its place and was still
   counted, or the need was over before it was looked at. *)
let may_yet_come (pool : P.pool) =
  let taken = P.count_places pool (fun v -> v.resident && P.is_taken v) in
  let residents = Atomic.get pool.residents in
  Atomic.get pool.refused = 0
  && (not (Atomic.get pool.closing))
  && (residents < Atomic.get pool.size - 1 || residents > taken)

(* Whether there is, or will soon be, a resident. So often at most it is tried again after a
   millisecond. *)
let rec summon ?(tries = 20) (pool : P.pool) (v : P.t) =
  Atomic.get v.owner <> 0
  || begin
    Sleep.need pool (Atomic.get pool.size - 1) ~ms:100;
    let before = Atomic.get pool.residents in
    Sleep.hire pool;
    if Atomic.get v.owner <> 0 || Atomic.get pool.residents > before then summon pool v
    else
      tries > 0 && may_yet_come pool
      && begin
        ignore Machine.Sleeper.(sleep (create ()) 1);
        summon ~tries:(tries - 1) pool v
      end
  end

(* Whether there is somebody to whom the job could be posted. *)
let rec post (w : P.t) (v : P.t) t =
  try_post w v t
  ||
  if Mailbox.is_gone v.mailbox then
    summon w.pool v
    &&
    (await_mailbox w v;
     post w v t)
  else begin
    if absent v then stand_in w v;
    await_mailbox w v;
    post w v t
  end

let progress t (v : P.t) = Mailbox.progress v.mailbox t.job

(* [index] is not always the caller's own: it stands in for others. *)
let run_as index w { letter = { share; report; _ }; _ } = Run.run_share w index share report

let take_back (w : P.t) (v : P.t) t =
  Mailbox.try_begin v.mailbox t.job
  && begin
    Mailbox.free v.mailbox;
    tell w v;
    Run.wake_posters w.pool;
    true
  end

let rec settle w (v : P.t) t =
  match progress t v with
  | Over -> ()
  | Waiting when t.revoke || absent v ->
    if take_back w v t then run_as v.index w t else settle w v t
  | (Waiting | Running) as was ->
    wait w (fun () -> progress t v <> was || (was = Waiting && absent v));
    settle w v t

(* The workers whose mailboxes are taken, or gone. *)
let rec post_all (w : P.t) t ~upto i =
  if i >= upto then []
  else if i = w.index then post_all w t ~upto (i + 1)
  else begin
    let v = (P.workers w.pool).(i) in
    let posted = if t.revoke then try_post w v t else post w v t in
    let missed = post_all w t ~upto (i + 1) in
    if posted then missed else i :: missed
  end

(* The caller's share of the work, and of the waiting. *)
let take_part (w : P.t) t ~missed ~upto =
  if w.index < upto then run_as w.index w t;
  for i = 0 to upto - 1 do
    if i <> w.index && not (List.mem i missed) then settle w (P.workers w.pool).(i) t
  done

(* The shares of those who are not there, or work for another caller, are tasks: whoever comes while
   the caller does its part, for the sake of these or not, takes one, and the rest is the caller's.
   Who takes one may do so on top of a strand for which the share will wait: so there it can
   suspend. The caller never does, as a region's caller stays where it is. *)

let take_task_back w p =
  Publish.retract w (Promise.any p);
  Promise.claim p

(* As Fork.wait_done. *)
let await_task w p =
  match Caller.wait_as w p with
  | () -> ()
  | exception exn ->
    let failure = Outcome.caught exn in
    while not (Promise.is_done p) do
      Caller.wait_as w p
    done;
    Outcome.raise failure

let abandon w p = if not (take_task_back w p) then await_task w p

(* To the end, however many exceptions strike. Not a tail call, here and below: a function that ends
   in one of its own begins with a look for signals, and what is raised there would go past the
   handler. *)
let rec surely_abandon w p =
  try abandon w p
  with _ ->
    surely_abandon w p;
    ()

let give_up w p t = if t.to_the_end then surely_abandon w p else abandon w p

let await_share w p t =
  match await_task w p with
  | () -> ()
  | exception exn when t.to_the_end ->
    surely_abandon w p;
    raise exn

(* The share knows what it is a part of by itself. *)
let offering w t i others =
  let { share; report; _ } : Mailbox.letter = t.letter in
  let p = Promise.(make nowhere (fun () -> Run.note_failure share i report)) in
  match
    Publish.offer w ~wake:true (Promise.any p);
    others ();
    take_task_back w p
  with
  | true -> run_as i w t
  | false ->
    await_share w p t;
    Fork.result p
  | exception exn ->
    let failure = Outcome.caught exn in
    give_up w p t;
    Outcome.raise failure

let rec with_missed w left part t =
  match left with
  | [] -> part ()
  | i :: left ->
    let others () = with_missed w left part t in
    if P.alone w || not t.revoke then begin
      others ();
      run_as i w t
    end
    else offering w t i others

let take_part_in w t ~upto =
  match post_all w t ~upto 0 with
  | [] -> take_part w t ~missed:[] ~upto
  | missed -> with_missed w missed (fun () -> take_part w t ~missed ~upto) t

(* After the last mailbox: a share is counted as late before its mailbox is freed. It may have
   suspended, and wait for a worker to go on with it: perhaps for this one. *)
let await_late w { letter = { report; _ }; _ } =
  Worker.help w ~ready:(fun () -> Atomic.get report.late = 0) ~register:ignore

(* What nobody has begun is not done any more. *)
let rec break_off w v t =
  match progress t v with
  | Over -> ()
  | Waiting -> if not (take_back w v t) then break_off w v t
  | Running ->
    wait w (fun () -> progress t v <> Running);
    break_off w v t

let rec break_all_off (w : P.t) t ~upto =
  try
    for i = 0 to upto - 1 do
      if i <> w.index then break_off w (P.workers w.pool).(i) t
    done;
    await_late w t
  with _ when t.to_the_end ->
    break_all_off w t ~upto;
    ()

(* An exception here is asynchronous, since those of shares are kept. It may have come between any
   two steps, but mailboxes and [late] tell all. *)
let fork w t ~upto =
  match
    take_part_in w t ~upto;
    await_late w t
  with
  | () -> ()
  | exception exn ->
    let failure = Outcome.caught exn in
    break_all_off w t ~upto;
    Outcome.raise failure

let count (w : P.t) = Counts.add_region w.own.counts

let run ?(to_the_end = false) w ~revoke ~workers share =
  Fiber.check_at w;
  if Atomic.get w.look <> 0 then Load.look w;
  let report = Mailbox.report () in
  let share = Fiber.carry w share and backtrace = Machine.backtrace_status () in
  count w;
  let from = w.index and nth = w.own.counts.regions in
  let job = Mailbox.job ~from ~nth in
  fork w
    { letter = Mailbox.letter share report ~from ~backtrace; job; revoke; to_the_end }
    ~upto:workers;
  Fiber.reraise report.failures

let size (w : P.t) = Atomic.get w.pool.size

(* A share of the caller's, run as in a region, but nobody else's. A further caller stands in for
   worker 0, as it would there. *)
let alone (w : P.t) share =
  let report = Mailbox.report () in
  let index = if w.index < Atomic.get w.pool.size then w.index else 0 in
  Run.run_share w index (Fiber.carry w share) report;
  Fiber.reraise report.failures
