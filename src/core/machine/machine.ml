external thread_id : unit -> int = "muster_thread_id" [@@noalloc]
external yield : unit -> unit = "muster_yield" [@@noalloc]
let yield_domain = Thread.yield
external code_of : _ -> int = "muster_code_of" [@@noalloc]
external backtrace_status : unit -> bool = "caml_backtrace_status" [@@noalloc]

let record_backtrace status = if backtrace_status () <> status then Printexc.record_backtrace status

(* {2 Clocks} *)

external clock : int -> int = "muster_clock" [@@noalloc]
external ticks : unit -> (int[@untagged]) = "muster_ticks" "muster_ticks_untagged" [@@noalloc]

let now () = clock 0
let thread_cpu () = clock 1
let process_cpu () = clock 2

(* Ticks in 1024 us, found by watching both clocks for 50 us: counters of 24 MHz (Apple) need the
   fraction. *)
let rate =
  let from = now () and first = ticks () in
  let rec watch () =
    let span = now () - from in
    if span < 50_000 then watch () else Int.max 1 ((ticks () - first) * 1_024_000 / span)
  in
  watch ()

let ticks_of_us us = Int.max 1 (us * rate / 1024)
let seconds_of_ticks n = float n *. 1024. /. (1e6 *. float rate)
let join_turns = 100
let search_pauses = 10

(* {2 The system} *)

external proc_field : string -> int -> int = "muster_proc_field" [@@noalloc]
external online_cpus : unit -> int = "muster_online_cpus" [@@noalloc]
external runtime_limit : unit -> int = "muster_runtime_limit" [@@noalloc]
external address_space : unit -> int = "muster_address_space" [@@noalloc]

(* The kernel's documentation, sched-stats; proc(5). *)
let run_queue_wait () = proc_field "/proc/thread-self/schedstat" 1
let runnable () = proc_field "/proc/loadavg" 3

(* {2 The collector and the domain} *)

external collections : unit -> int = "muster_collections" [@@noalloc]
external called_up_at : unit -> int = "muster_called_up_at" [@@noalloc]
external look_up_every : int -> int -> unit = "muster_look_up_every" [@@noalloc]
external set_minor_heap : words:int -> unit = "muster_set_minor_heap"
external free_stacks : keep:int -> unit = "muster_free_stacks" [@@noalloc]
external stack_id : unit -> int = "muster_stack_id" [@@noalloc]
external domain_must_stay : unit -> bool = "muster_domain_must_stay" [@@noalloc]

let at_domain_end f =
  let once = Domain.DLS.new_key (fun () -> Domain.at_exit f) in
  fun () -> Domain.DLS.get once

(* {2 Signals} *)

external block_signals : unit -> unit = "muster_block_signals" [@@noalloc]
external block_and_note : bytes -> unit = "muster_block_signals" [@@noalloc]
external set_signals : bytes -> unit = "muster_set_signals" [@@noalloc]
external pass_interrupt_on : unit -> bool = "muster_pass_interrupt_on" [@@noalloc]

let signals () =
  let mask = Bytes.make 128 '\000' in
  block_and_note mask;
  set_signals mask;
  mask

(* Set once. *)
let usual : bytes option Atomic.t = Atomic.make None

let note_signals () =
  if Atomic.get usual = None then
    ignore (Atomic.compare_and_set usual None (Some (signals ())))

let usual_signals () = match Atomic.get usual with Some mask -> set_signals mask | None -> ()

(* {2 Domains and threads} *)

external note_yields : unit -> unit = "muster_note_yields" [@@noalloc]

external keep_domain : int -> unit = "muster_keep_domain" [@@noalloc]
(** By 1: no other thread of this domain runs until the same by -1. *)

(* The module [Thread] prepares the runtime for threads. *)
let () =
  ignore (Thread.self ());
  note_yields ()

(* The caller takes no signals meanwhile, and its domain runs no other thread. *)
let undisturbed f x =
  let mask = signals () in
  let no_longer () =
    keep_domain (-1);
    set_signals mask
  in
  block_signals ();
  keep_domain 1;
  Outcome.finally no_longer () f x

(* A thread of ours takes the first domain's lock before it begins. Code that computes gives that
   away at the ticks of one thread only, which the runtime starts with the domain's first thread. *)
let has_ticks = Atomic.make false

let have_ticks () =
  if Domain.is_main_domain () && not (Atomic.exchange has_ticks true) then
    match Thread.create ignore () with
    | _ -> ()
    | exception exn -> (
      Atomic.set has_ticks false;
      match exn with Sys_error _ | Failure _ -> () | _ -> raise exn)

external start : (unit -> unit) -> bool = "muster_start_thread"

let start_thread f =
  undisturbed have_ticks ();
  undisturbed start f

(* [Domain.spawn] draws the child's generator of [Random] from the parent's, which is the program's
   and must not depend on when domains come and go. So the parent's is put back. Each child gets
   another one, made of the parent's next draw and a number of its own, or all would draw the
   same. *)
let spawned = Atomic.make 0

let generator_of_child random =
  let random = Random.State.copy random in
  let seed = Array.init 4 (fun _ -> Random.State.bits random) in
  Random.State.make (Array.append seed [| Atomic.fetch_and_add spawned 1 |])

let spawn_noted noted f =
  let random = Random.get_state () in
  let child's = generator_of_child random in
  let run () =
    Random.set_state child's;
    f ()
  in
  let domain = Outcome.finally Random.set_state random Domain.spawn run in
  noted domain;
  domain

let spawn ?(noted = ignore) f =
  undisturbed have_ticks ();
  undisturbed (spawn_noted noted) f

module Sleeper = struct
  type t

  external create : unit -> t = "muster_sleeper_create"
  external sleep : t -> int -> bool = "muster_sleeper_sleep"
  external doze : t -> int -> bool = "muster_sleeper_doze"
  external wake : t -> unit = "muster_sleeper_wake" [@@noalloc]
end

let sleep_ms ms = ignore (Sleeper.sleep (Sleeper.create ()) ms)

(* {2 SIGQUIT}

   Every thread of the program may be stuck where no handler runs. So a thread of its own comes back
   to OCaml every [quit_ms], and takes no other signal. *)

external end_by_quit : unit -> unit = "muster_end_by_quit"

let quit_ms = 100

let await_quit came f () =
  ignore (Thread.sigmask SIG_UNBLOCK [ Sys.sigquit ]);
  while not (Atomic.get came) do
    sleep_ms quit_ms
  done;
  f ();
  end_by_quit ()

let on_quit f =
  let came = Atomic.make false in
  match Sys.signal Sys.sigquit (Signal_handle (fun _ -> Atomic.set came true)) with
  (* A shell that runs a command in the background has it ignore the signal. *)
  | Signal_default | Signal_ignore -> ignore (start_thread (await_quit came f))
  | Signal_handle _ as other -> Sys.set_signal Sys.sigquit other
  | exception (Invalid_argument _ | Sys_error _) -> () (* Windows has none. *)

(* {2 ThreadSanitizer} *)

external add_calls : Printexc.raw_backtrace -> unit = "muster_add_calls" [@@noalloc]
external drop_calls : Printexc.raw_backtrace -> unit = "muster_drop_calls" [@@noalloc]

let shows_calls = Target.has_tsan

let below_calls backtrace f x =
  add_calls backtrace;
  Outcome.finally drop_calls backtrace f x

module Canary = struct
  type t

  external create : int -> t = "muster_canary_create"
  external next_death : unit -> int = "muster_canary_next_death" [@@noalloc]
end
