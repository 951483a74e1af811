(* A machine on which time stands still and sleepers sleep until they are woken. *)

let thread_id () = 10 + !Atomic.current
let wait_until holds = if not (holds ()) then Atomic.block holds
let yield = ignore
let yield_domain = ignore
let backtrace_status () = false
let record_backtrace = ignore

(* No patience: who finds nothing at the first look goes to sleep. *)
let ticks () = 1
let ticks_of_us _ = 0
let seconds_of_ticks _ = 0.
let join_turns = 0
let search_pauses = 0
let called_up_at () = 0
let clock = ref 1
let now () = !clock
let thread_cpu () = 0
let process_cpu () = -1
let collections () = 0
let run_queue_wait () = 0
let runnable () = -1
let online_cpus () = 4
let runtime_limit () = 128
let pass_interrupt_on () = false
let block_signals = ignore
let note_signals = ignore
let usual_signals = ignore
let domain_must_stay () = false
let stack_id () = 0
let look_up_every _ _ = ()
let shows_calls = false
let below_calls _ f x = f x

(* {2 What happens to one who sleeps}

   The first sleep of such a process ends in another way, if there is no token. *)

type end_of_sleep =
  | Time_is_up
  | Interrupt
  | No_end  (** whatever comes: where it goes on is of no interest *)

let early : (int * end_of_sleep) list ref = ref []

(* Shows whether a model has it happen at all. *)
let happened = ref 0

let () =
  Atomic.at_start :=
    (fun () ->
      clock := 1;
      early := [];
      happened := 0)
    :: !Atomic.at_start

module Sleeper = struct
  type t = bool Atomic.t

  let create () = Atomic.make false

  let end_early me how =
    early := List.filter (fun (who, _) -> who <> me) !early;
    incr happened;
    match how with
    | Time_is_up -> false
    | Interrupt -> raise Sys.Break
    | No_end -> Atomic.block (fun () -> false)

  let sleep token limit_ms =
    let me = !Atomic.current in
    match List.assoc_opt me !early with
    | Some No_end -> end_early me No_end
    | how -> (
      Atomic.compare_and_set token true false
      ||
      match how with
      | Some how when how = Interrupt || limit_ms >= 0 -> end_early me how
      | _ -> Atomic.block (fun () -> Atomic.get token))

  let doze = sleep
  let wake token = Atomic.set token true
end

module Canary = struct
  type t = unit

  let create _ = ()
  let next_death () = -1
end

(* A finaliser that comes once the domain is there, and before anybody else knows it. *)
let spawned = ref ignore
let () = Atomic.at_start := (fun () -> spawned := ignore) :: !Atomic.at_start

let spawn ?(noted = ignore) f =
  let domain = Domain.spawn f in
  !spawned ();
  noted domain;
  domain

(* No model has more threads than its processes. *)
let start_thread _ = true
let on_quit = ignore
let free_stacks ~keep:_ = ()
let at_domain_end _ () = ()

let sleep_ms ms = ignore (Sleeper.sleep (Sleeper.create ()) ms)

let code_of _ = 0
