type run = {
  m : Measures.t;
  cpu : float;
  kernel : float;
  cpus : float;
  affinity : float;
  throttled : float;
  lost : bool;
  alone : float option;
  pace : float;
  task_cost : float;
  task_bytes : float;
}

type finding = { cause : string; gain : float; number : string; advice : string }

let felt = 1. /. 7.

(* {2 Waits} *)

let lock = "a lock"
let channel = "a channel"
let io = "blocking calls"
let other = "another task"
let turn = "a worker of Workers"

(* A task that waits for another one's result mostly waits for what that one waits for. *)
let classes = [ lock; channel; io; turn; other ]

let calls =
  [
    (lock, [ "Mutex."; "Rwlock."; "Semaphore." ]);
    (channel, [ "Chan." ]);
    (other, [ "Condition."; "Barrier."; "Latch."; "Lazy."; "Table."; "the next " ]);
    (turn, [ "Workers." ]);
    (io, [ "Task.blocking"; "Task.sleep"; "an event of another library" ]);
  ]

let is_of_class call it =
  List.exists (fun prefix -> String.starts_with ~prefix call) (List.assoc it calls)

(* {2 What the rules speak of} *)

let share part whole = if whole > 0. then part /. whole else 0.
let percent part whole = Printf.sprintf "%.0f %%" (100. *. share part whole)
let time s =
  if s < 0.9995e-3 then Printf.sprintf "%.1f us" (1e6 *. s)
  else if s < 0.0995 then Printf.sprintf "%.1f ms" (1e3 *. s)
  else Printf.sprintf "%.1f s" s

let workers ({ workers = n; _ } : Measures.t) = Printf.sprintf "%d worker%s" n (if n = 1 then "" else "s")

let at place = if place = "" || place = "?" then "" else place
let missing r it = Option.value (List.assoc_opt it r.m.missing) ~default:0.
let collecting { m; _ } = m.minor +. m.major +. m.stop
let is_crowded r = float r.m.workers > Float.round r.cpus +. 0.5

(* Workers that wait for a CPU that another of them has lose nothing by that: as much as the program
   has not used, and did not lack work for, is lost. *)
let queued r =
  let lacked = List.fold_left (fun n (_, seconds) -> n +. seconds) r.m.blocked r.m.missing in
  Float.min r.m.queue (Float.max 0. ((r.cpus *. r.m.wall) -. r.cpu -. lacked))
let held_by_others r = if is_crowded r then 0. else r.m.held
let busy r = r.m.working +. collecting r +. r.m.held +. queued r

(* Seconds of workers, as seconds of the wall that passed beside them. *)
let of_wall r part =
  (r.m.wall -. r.m.quiet) *. share part (busy r +. r.m.outside +. r.m.beside +. r.m.unknown)

(* Of CPUs. *)
let of_cpus r part = part /. Float.max 1. r.cpus

(* The part of what was allocated that handing out tasks has, and so of the collections. *)
let of_tasks r =
  Float.min 1. (share (float r.m.forks *. r.task_bytes) (float r.m.allocated))

(* What they would take without too many workers is not known. *)
let collections r = if is_crowded r then 0. else of_wall r (collecting r)

let straggling r = r.m.straggling *. (1. -. (1. /. Float.max 1. r.cpus))

(* To wake a worker takes that long: it comes too late for smaller tasks. *)
let wake = 1e-5
let are_small r = share r.m.working (float r.m.forks) < wake
let are_small_shares r = r.m.shares > 0 && share r.m.working (float r.m.shares) < wake
let fine r = missing r "larger tasks"

let share_of_team = "a share"
let unshared r = of_cpus r (missing r share_of_team)
let is_of_stragglers r = straggling r > unshared r
let waits r it = List.filter (fun (call, _, _) -> is_of_class call it) r.m.waits
let times r it = List.fold_left (fun n (_, times, _) -> n + times) 0 (waits r it)
let place_of r it =
  let is_it ((call, _), _) = is_of_class call it in
  Option.fold (List.find_opt is_it r.m.wait_places) ~none:"" ~some:(fun ((_, place), _) -> at place)
[@@ocamlformat "disable"]

(* Of the time on a CPU. *)
let of_cpu_time r seconds =
  Float.min 1. (share seconds r.cpu) *. of_wall r (Float.max 0. (r.m.working -. r.m.blocked))

(* A wait costs about as much as two tasks: it suspends, and goes on by way of a deque. *)
let of_messages r it = of_cpu_time r (float (times r it) *. 2. *. r.task_cost)
let of_wait r it = of_cpus r (missing r it) +. of_messages r it

let are_short r it =
  let seconds = List.fold_left (fun sum (_, _, seconds) -> sum +. seconds) 0. (waits r it) in
  felt *. share seconds (float (times r it)) < wake

let told_wait r it =
  let told (call, n, seconds) =
    if n = 1 then Printf.sprintf "%s (once, for %s)" call (time seconds)
    else Printf.sprintf "%s (%d times, %s each)" call n (time (share seconds (float n)))
  in
  let all = String.concat ", " (List.map told (waits r it)) in
  Printf.sprintf "tasks waited%s for %s; meanwhile CPUs were free for %s in all" (place_of r it) all
    (time (missing r it))

(* A worker's sleep, by the kernel's name for it. *)
let futex = "futex"

let sleeps_by_name =
  [
    (futex, "a Stdlib mutex or condition, or a join");
    ("hrtimer_nanosleep", "a sleep");
    ("anon_pipe_read", "a read from a pipe");
    ("pipe_read", "a read from a pipe");
    ("anon_pipe_write", "a write to a pipe");
    ("pipe_write", "a write to a pipe");
    ("do_wait", "a wait for a process");
    ("do_poll", "poll or select");
    ("poll_schedule_timeout", "poll or select");
    ("ep_poll", "epoll");
    ("folio_wait", "a disk");
    ("io_schedule", "a disk");
    ("jbd2", "a disk");
    ("n_tty_read", "a read from a terminal");
    ("inet_csk_accept", "a socket");
    ("wait_woken", "a socket");
  ]

let is_futex (call, _) = String.starts_with ~prefix:futex call
let total sleeps = List.fold_left (fun n (_, seconds) -> n +. seconds) 0. sleeps

let told_sleep ?(who = "workers slept within tasks") sleeps =
  let in_words call =
    match List.find_opt (fun (prefix, _) -> String.starts_with ~prefix call) sleeps_by_name with
    | Some (_, words) -> Printf.sprintf " in %s (%s)" words call
    | None -> if call = "" then " in the kernel" else " in " ^ call
  in
  let call = match sleeps with (call, _) :: _ -> in_words call | [] -> "" in
  Printf.sprintf "%s, %s in all,%s" who (time (total sleeps)) call

(* Where a thread woke before it was asked in which call it slept, that was the most frequent one. *)
let blocked_in r =
  match List.partition (fun (call, _) -> call = "") r.m.blocked_in with
  | [ (_, unnamed) ], (call, seconds) :: rest -> (call, seconds +. unnamed) :: rest
  | _ -> r.m.blocked_in

let blocking r = List.filter (fun it -> not (is_futex it)) (blocked_in r)
let in_futex r = List.filter is_futex (blocked_in r)

let own_time (m : Measures.t) ~cpu =
  Float.max 0. (cpu -. m.minor -. m.major -. m.stop -. m.held -. m.looking -. m.spun -. m.unknown)

let inflation r =
  match r.alone with
  | Some alone when alone > 0. -> own_time r.m ~cpu:r.cpu /. alone
  | _ -> 1.

(* The machine's part of that: what a loop that only computes meets as well. Where such loops were
   quicker than in the second run, the program may have been so, or not. *)
let of_machine r = Float.max 1. (Float.min r.pace (inflation r))
let of_memory r = Float.max 1. (inflation r /. of_machine r)
let without factor r = r.m.wall *. (1. -. (1. /. factor))

let chain r =
  let told (place, seconds) = Printf.sprintf "%s (%s)" (String.trim place) (time seconds) in
  let is_felt (_, seconds) = seconds > felt *. r.m.span in
  String.concat ", " (List.map told (List.filter is_felt r.m.chain))

let parallelism r =
  if r.m.sampled || r.m.span <= 0. then
    Printf.sprintf "CPUs were free for %s in all, for lack of tasks; %s passed outside all tasks"
      (time (missing r "parallelism" +. fine r))
      (time r.m.outside)
  else
    Printf.sprintf "work %s, longest chain %s or less, parallelism %.1f; the chain is %s"
      (time r.m.work) (time r.m.span) (r.m.work /. r.m.span) (chain r)

let grain r =
  Printf.sprintf "%d tasks of %.2f us each, and to fork one takes %.2f us here" r.m.forks
    (1e6 *. share r.m.working (float r.m.forks)) (1e6 *. r.task_cost)
[@@ocamlformat "disable"]

let is_of_shares r = are_small_shares r && unshared r > of_cpus r (fine r)

let small_shares r =
  Printf.sprintf "calls of Team with %d shares of %s each; meanwhile CPUs were free for %s in all"
    r.m.shares (time (share r.m.working (float r.m.shares))) (time (missing r share_of_team))

let is_call (name, _) = String.starts_with ~prefix:"Gc." name

(* A call of Gc.full_major or Gc.compact is three cycles, each with a minor collection. *)
let forced r =
  let collections (name, n) = float (if is_call (name, n) then 3 * n else n) in
  List.filter (fun it -> collections it > felt *. float r.m.minors) r.m.forced

let are_mostly r it = match forced r with (name, _) :: _ -> name = it | [] -> false

(* Most of the time went to waits for a domain that did not stop, though it had a CPU. *)
let is_late { m; _ } = total m.late > m.minor +. m.major

let told_late r =
  match r.m.late with
  | (place, _) :: _ when is_late r ->
    Printf.sprintf "; most of it for code%s that did not stop" (at place)
  | _ -> ""

let gc r =
  let m = r.m in
  let part seconds = percent seconds (busy r) in
  let each = share (m.minor +. m.stop) (float (m.minors * Int.max 1 m.workers)) in
  let by =
    match forced r with (name, n) :: _ -> Printf.sprintf ", %s forced %d" name n | [] -> ""
  in
  Printf.sprintf
    "%s of the workers' time: minor %s, major %s, waiting for other domains %s; %d minor \
     collections of %s each, %.1f GB/s allocated, %s of it survived%s%s"
    (part (collecting r)) (part m.minor) (part m.major) (part m.stop) m.minors (time each)
    (share (float m.allocated /. 1e9) m.wall)
    (percent (8. *. float m.promoted) (float m.allocated)) by (told_late r)
[@@ocamlformat "disable"]

(* {2 The rules} *)

type rule = { cause : string; gain : run -> float; number : run -> string; advice : run -> string }

let say text _ = text

let rules =
  [
    {
      cause = "collections";
      gain = (fun r -> collections r *. (1. -. of_tasks r));
      number = gc;
      advice =
        (fun r ->
          match List.find_opt is_call (forced r) with
          | _ when is_late r ->
            "shorter calls of C code there, such as Digest, Marshal or Unix on smaller parts: nothing \
             can collect until they end, unless they release the runtime lock"
          | Some (call, n) when r.m.major > r.m.minor ->
            Printf.sprintf "no %s while tasks run (it was called %d times%s)" call n (if r.lost then ", or more" else "")
          | _ when are_mostly r "memory outside the heap" -> "bigarrays and the like that are used again: each new one hastens the collector"
          | _ when r.m.major > r.m.minor && are_mostly r "allocation in the major heap" ->
            "fewer large values (those of more than 256 words begin in the major heap): a buffer that is used again"
          | _ when r.m.major > r.m.minor ->
            "allocate less that lives long, or OCAMLRUNPARAM=o=200 (less work of the major collector)"
          | _ -> "allocate less in the tasks; a larger minor heap (OCAMLRUNPARAM=s=1M) may be faster, or slower");
    };
    {
      cause = "more workers than CPUs";
      gain = (fun r -> if is_crowded r then of_wall r (collecting r +. r.m.held) else 0.);
      number =
        (fun r ->
          Printf.sprintf
            "%d workers on %g CPUs: in all they waited %s for a CPU, and collections took %s, %s \
             of it waiting for domains that had none"
            r.m.workers r.cpus (time r.m.queue) (time (collecting r +. r.m.held))
            (percent (r.m.stop +. r.m.held) (collecting r +. r.m.held)));
      advice = (fun r -> Printf.sprintf "%.0f domains (MUSTER_DOMAINS=%.0f)" r.cpus r.cpus);
    };
    {
      cause = "no CPU: other programs use them";
      gain =
        (fun r ->
          Float.min
            (r.m.wall -. of_cpus r r.cpu)
            (of_wall r (queued r +. held_by_others r) +. of_cpus r (missing r "a CPU")));
      number =
        (fun r ->
          let left = missing r "a CPU" and own = r.m.beside in
          Printf.sprintf "its threads waited %s in all for a CPU%s%s%s" (time (queued r))
            (if held_by_others r > felt *. r.m.wall then ", and other threads " ^ time r.m.held ^ " for these in collections" else "")
            (if left > 0. then ", and it left CPUs to other programs for " ^ time left else "")
            (if own > felt *. r.m.wall then "; its own threads outside all pools used " ^ time own else ""));
      advice = say "a run on a quiet machine";
    };
    {
      cause = "fewer workers than CPUs";
      gain = (fun r -> of_cpus r (missing r "a worker"));
      number = (fun r -> Printf.sprintf "%s at most, for %g CPUs" (workers r.m) r.cpus);
      advice = say "more domains (MUSTER_DOMAINS, Pool.set_default, or ~domains of Pool.create)";
    };
    {
      cause = "a CPU quota";
      gain =
        (fun r ->
          let at_once = Float.max 1. (Float.min r.affinity (float r.m.workers)) in
          Float.min (r.throttled /. at_once) (r.m.wall -. (r.cpu /. at_once)));
      number =
        (fun r ->
          Printf.sprintf "a quota of %g CPUs has stopped it for %s, summed over CPUs (cpu.stat)" r.cpus
            (time r.throttled));
      advice = say "a larger quota (cpu.max, or docker run --cpus)";
    };
    {
      cause = "imbalance";
      gain = (fun r -> straggling r +. if are_small_shares r then 0. else unshared r);
      number =
        (fun r ->
          match r.m.straggler with
          | Some (place, seconds) when is_of_stragglers r ->
            Printf.sprintf "one piece of work%s ran alone for %s; such pieces ran alone for %s in all"
              (at place) (time seconds) (time r.m.straggling)
          | _ ->
            Printf.sprintf "CPUs were free for %s in all while other workers had shares of a call of Team"
              (time (missing r share_of_team)));
      advice =
        (fun r ->
          if is_of_stragglers r then "cut that task into several, or start it first"
          else "Team.for_n_dynamic or parallel_for, which give work to workers that are free");
    };
    {
      cause = "too little parallelism";
      gain =
        (fun r ->
          let fine = if are_small r then 0. else fine r in
          of_cpus r (missing r "parallelism" +. fine) -. straggling r);
      number = parallelism;
      advice =
        (fun r ->
          if r.m.sampled then
            "fork in the code between the tasks, or larger loops (one of less than some 20 us is over before a worker has woken)"
          else "fork, or use a parallel loop, in the chain's longest part");
    };
    {
      cause = "waiting for " ^ lock;
      gain =
        (fun r ->
          of_wait r lock +. of_cpu_time r r.m.spun
          +. of_cpus r (total (in_futex r)));
      number =
        (fun r ->
          let sleeps = in_futex r in
          let when_ holds text = if holds then [ text () ] else [] in
          let looked () = "workers tried to take locks for " ^ time r.m.spun ^ " in all" in
          String.concat "; "
            (when_ (waits r lock <> []) (fun () -> told_wait r lock)
            @ when_ (r.m.spun > felt *. r.m.wall) looked
            @ when_ (sleeps <> []) (fun () -> told_sleep sleeps)));
      advice =
        (fun r ->
          let less = "hold the lock for a shorter time, or use one lock for each part of the data" in
          if of_cpus r (total (in_futex r)) > of_wait r lock +. of_cpu_time r r.m.spun then
            less ^ "; Muster's Mutex or Condition, whose waits leave the worker to other tasks; Task.blocking around a join"
          else less);
    };
    {
      cause = "waiting for " ^ channel;
      gain = (fun r -> of_wait r channel);
      number = (fun r -> told_wait r channel);
      advice =
        (fun r ->
          if of_cpus r (missing r channel) > of_messages r channel && not (are_short r channel) then
            "several tasks for the slowest stage (if tasks wait in Chan.send, that is the receiver's)"
          else "larger messages, or a larger buffer (Chan.bounded)");
    };
    {
      cause = "waiting for " ^ turn;
      gain = (fun r -> of_cpus r (missing r turn));
      number = (fun r -> told_wait r turn);
      advice = say "more jobs at the same time (~workers of Workers.create)";
    };
    {
      cause = "waiting for " ^ other;
      gain = (fun r -> of_wait r other);
      number = (fun r -> told_wait r other);
      advice = say "start the awaited work earlier, or divide it";
    };
    {
      cause = "waiting for " ^ io;
      gain = (fun r -> of_cpus r (missing r io));
      number = (fun r -> told_wait r io);
      advice = say "more of these calls at once, or other work meanwhile";
    };
    {
      cause = "a blocking call in a task";
      gain = (fun r -> of_cpus r (total (blocking r)));
      number = (fun r -> told_sleep (blocking r));
      advice = say "Task.blocking around the call";
    };
    {
      cause = "a wait outside all tasks";
      gain = (fun r -> of_cpus r (missing r "the end of a call"));
      number =
        (fun r ->
          told_sleep r.m.asleep_in
            ~who:"the program's first thread slept while it had no task under way");
      advice = say "make that call by Task.blocking, in a task, beside other work";
    };
    {
      cause = "tasks too small";
      gain =
        (fun r ->
          of_cpu_time r (float r.m.forks *. r.task_cost)
          +. (collections r *. of_tasks r)
          +. of_cpus r (if are_small r then fine r else 0.)
          +. if are_small_shares r then unshared r else 0.);
      number = (fun r -> if is_of_shares r then small_shares r else grain r);
      advice =
        (fun r ->
          if is_of_shares r then "one call of Team for more work: to wake a worker takes longer than such a share"
          else "both or a parallel loop, which fork only where it pays; or larger tasks");
    };
    {
      cause = "the kernel";
      gain = (fun r -> of_cpu_time r r.kernel);
      number =
        (fun r ->
          Printf.sprintf "%s of its CPU time of %s went to system calls and page faults"
            (time r.kernel) (time r.cpu));
      advice =
        say
          "fewer, larger calls; large buffers that are used again (a new one has page faults); \
           Muster's Mutex in place of a Stdlib one, whose waits are system calls";
    };
    {
      cause = "memory: the same work takes longer on several CPUs";
      gain = (fun r -> without (of_memory r) r);
      number =
        (fun r -> Printf.sprintf "the tasks' own time is %.2f times that on one CPU%s" (inflation r)
          (if of_machine r < 1.01 then "" else
            Printf.sprintf ", of a loop that only computes %.2f times" (of_machine r)));
      advice =
        say
          "more space between the words that different tasks write (false sharing); less memory for \
           each element; no loops that poll";
    };
    {
      cause = "slower CPUs: each computes more slowly while all are at work";
      gain = (fun r -> without (of_machine r) r);
      number =
        (fun r ->
          Printf.sprintf "a loop that only computes took %.2f times as long during this run as during the one on a single CPU"
            (of_machine r));
      advice =
        say
          "no change of the program (two CPUs may be threads of one core, other machines may use the \
           same cores, and the clock may be lower while all CPUs work)";
    };
  ]
[@@ocamlformat "disable"]

(* Where events were lost, a cause counts by the time of which something is known. *)
let known r =
  let it = busy r +. r.m.outside +. r.m.beside in
  r.m.wall *. share it (it +. r.m.unknown)

let findings r =
  let find { cause; gain; number; advice } =
    let gain = Float.min (gain r) (0.99 *. r.m.wall) in
    if gain < felt *. known r then None
    else Some ({ cause; gain; number = number r; advice = advice r } : finding)
  in
  List.sort (fun (a : finding) b -> Float.compare b.gain a.gain) (List.filter_map find rules)
