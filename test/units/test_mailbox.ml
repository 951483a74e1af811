(* [Mailbox], alone against a model for every short sequence, and with two callers and their worker. *)

open Harness
open Unit_support
open Muster_core

let letter ?(share = ignore) () =
  Mailbox.(letter share (report ()) ~from:0 ~backtrace:false)

(* Jobs of two callers, and of one caller's regions. *)
let jobs =
  Mailbox.
    [
      job ~from:0 ~nth:1;
      job ~from:0 ~nth:2;
      job ~from:1 ~nth:1;
    ]

(* {2 Every sequence} *)

type op = Post of Mailbox.job | Begin of Mailbox.job | Free | Lock | Unlock
type state = Idle | Gone | Posted of Mailbox.job | Busy of Mailbox.job
type model = { state : state; keeps_job : bool }

let has_content (mailbox : Mailbox.t) = mailbox.share != (Mailbox.blank ()).share
let has_job = function Posted _ | Busy _ -> true | Idle | Gone -> false

let step mailbox ({ state; _ } as m) op =
  let says what is_so m' ok =
    check_bool what is_so ok;
    if is_so then m' else m
  and does is_so m' f =
    if is_so then f mailbox;
    if is_so then m' else m
  and nothing state = { state; keeps_job = false }
  and something state = { state; keeps_job = true } in
  match op with
  | Post job ->
    says "post" (state = Idle) (something (Posted job)) (Mailbox.post mailbox job (letter ()))
  | Begin job ->
    says "begin" (state = Posted job) (something (Busy job)) (Mailbox.try_begin mailbox job)
  | Lock -> says "lock" (state = Idle) (nothing Gone) (Mailbox.lock mailbox)
  | Free -> does (has_job state) (nothing Idle) Mailbox.free
  | Unlock -> does (state = Gone) (nothing Idle) Mailbox.unlock

let look mailbox { state = m; keeps_job } =
  check_bool "keeps a job" keeps_job (has_content mailbox);
  check_bool "idle" (m = Idle) (Mailbox.is_idle mailbox);
  check_bool "gone" (m = Gone) (Mailbox.is_gone mailbox);
  let posted = match m with Posted job -> job | _ -> Mailbox.none in
  check_int "posted" (posted :> int) (Mailbox.posted mailbox :> int);
  List.iter
    (fun job ->
      let expected =
        if m = Posted job then Mailbox.Waiting else if m = Busy job then Running else Over
      in
      check_equal "progress" expected (Mailbox.progress mailbox job))
    jobs

let every_sequence () =
  let of_job job = [ Post job; Begin job ] in
  let ops = Free :: Lock :: Unlock :: List.concat_map of_job jobs in
  let run ops =
    let mailbox = Mailbox.create ~is_open:false in
    let step_and_look m op =
      let m = step mailbox m op in
      look mailbox m;
      m
    in
    ignore (List.fold_left step_and_look { state = Gone; keeps_job = false } (Unlock :: ops))
  in
  each_word ops ~length:5 run

let no_two_jobs_are_equal () =
  let seen = Hashtbl.create 1000 in
  let note job =
    check_bool "none" true (job <> Mailbox.none);
    check_bool "seen before" false (Hashtbl.mem seen job);
    Hashtbl.add seen job ()
  in
  let ends n = [ 0; 1; 2; n - 2; n - 1; n ] in
  List.iter
    (fun from ->
      List.iter
        (fun nth ->
          note (Mailbox.job ~from ~nth))
        (ends 1_000_000))
    (ends 200)

(* {2 What it keeps} *)

(* The collector finds the share when no mailbox keeps it. *)
let nothing_is_kept () =
  let job = List.hd jobs in
  let check begun =
    let mailbox = Mailbox.create ~is_open:true and collected = ref false in
    let post () =
      let big = Bytes.create 10 in
      Gc.finalise (fun _ -> collected := true) big;
      let share i = Bytes.set big i 'a' in
      check_bool "post" true (Mailbox.post mailbox job (letter ~share ()))
    in
    (Sys.opaque_identity post) ();
    Gc.full_major ();
    check_bool "the mailbox keeps what waits" false !collected;
    if begun then check_bool "begin" true (Mailbox.try_begin mailbox job);
    Mailbox.free mailbox;
    Gc.full_major ();
    check_bool "the mailbox keeps nothing" true !collected;
    ignore (Sys.opaque_identity mailbox)
  in
  List.iter check [ false; true ]

(* {2 Two callers}

   Each posts its letters when it can; who begins a job finds the letter of that job, whole. *)

let pause () =
  Machine.yield ();
  Domain.cpu_relax ()

let letters_are_whole () =
  let callers = 2 and each = 10_000 in
  let mailbox = Mailbox.create ~is_open:true in
  let reports = Array.init callers (fun _ -> Mailbox.report ()) in
  let taken_back = Atomic.make 0 and served = Atomic.make 0 in
  let call from () =
    for nth = 1 to each do
      let job = Mailbox.job ~from ~nth in
      let share worker = check_int "share" ((worker * each) + nth) ((from * each) + nth) in
      let letter = Mailbox.letter share reports.(from) ~from ~backtrace:(from = 1) in
      while not (Mailbox.post mailbox job letter) do
        pause ()
      done;
      if nth land 3 = 1 && Mailbox.try_begin mailbox job then begin
        Mailbox.free mailbox;
        Atomic.incr taken_back
      end
      else
        while Mailbox.progress mailbox job <> Over do
          pause ()
        done
    done
  in
  let serve () =
    let job = Mailbox.posted mailbox in
    if job <> Mailbox.none && Mailbox.try_begin mailbox job then begin
      let { Mailbox.share; report; from; backtrace; _ } = mailbox in
      share from;
      check_bool "report" true (report == reports.(from));
      check_bool "backtrace" (from = 1) backtrace;
      Mailbox.free mailbox;
      Atomic.incr served
    end
    else pause ()
  in
  let domains = List.init callers (fun from -> Domain.spawn (call from)) in
  let all = callers * each in
  while Atomic.get served + Atomic.get taken_back < all do
    serve ()
  done;
  List.iter Domain.join domains;
  check_bool "idle" true (Mailbox.is_idle mailbox)

let () =
  Alcotest.run "mailbox"
    [
      ( "alone",
        [
          case "every sequence of operations" every_sequence;
          case "no two jobs are equal" no_two_jobs_are_equal;
          case "a mailbox keeps nothing of a job" nothing_is_kept;
        ] );
      ("together", [ case ~seconds:60 "letters are whole" letters_are_whole ]);
    ]
