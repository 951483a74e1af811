external thread_id : unit -> int = "muster_thread_id" [@@noalloc]
external yield : unit -> unit = "muster_yield" [@@noalloc]
external code_of : ('a -> 'b) -> int = "muster_code_of" [@@noalloc]
external code_of_team : (worker:int -> 'a) -> int = "muster_code_of" [@@noalloc]
external ticks : unit -> (int[@untagged]) = "muster_ticks" "muster_ticks_untagged" [@@noalloc]
external ticks_per_us : unit -> int = "muster_ticks_per_us" [@@noalloc]
external backtrace_status : unit -> bool = "caml_backtrace_status" [@@noalloc]

(* ns; -1 where it is unknown *)
external now : unit -> int = "muster_now" [@@noalloc]
external thread_cpu : unit -> int = "muster_thread_cpu" [@@noalloc]
external process_cpu : unit -> int = "muster_process_cpu" [@@noalloc]
external run_queue_wait : unit -> int = "muster_run_queue_wait" [@@noalloc]
external runnable : unit -> int = "muster_runnable" [@@noalloc]
external address_space : unit -> int = "muster_address_space" [@@noalloc]
external collections : unit -> int = "muster_collections" [@@noalloc]
external online_cpus : unit -> int = "muster_online_cpus" [@@noalloc]
external pass_interrupt_on : unit -> bool = "muster_pass_interrupt_on" [@@noalloc]
external block_signals : unit -> unit = "muster_block_signals" [@@noalloc]
external note_signals : unit -> unit = "muster_note_signals" [@@noalloc]
external hold_signals : unit -> unit = "muster_hold_signals" [@@noalloc]
external release_signals : unit -> unit = "muster_release_signals" [@@noalloc]
external usual_signals : unit -> unit = "muster_usual_signals" [@@noalloc]
external set_minor_heap : words:int -> unit = "muster_set_minor_heap"
external free_stacks : keep:int -> unit = "muster_free_stacks" [@@noalloc]
external domain_must_stay : unit -> bool = "muster_domain_must_stay" [@@noalloc]

external called_up_at : unit -> int = "muster_called_up_at" [@@noalloc]
external look_up_every : int -> int -> unit = "muster_look_up_every"
[@@noalloc]
(** Place of a worker in domain-local storage, or -1; ticks. *)

let record_backtrace status = if backtrace_status () <> status then Printexc.record_backtrace status
let rate = ticks_per_us ()
let ticks_of_us us = Int.max 1 (us * rate / 1024)
let join_turns = 100
let search_pauses = 10
let seconds_of_ticks n = float n *. 1024. /. (1e6 *. float rate)
let stacks_of_domain = Domain.DLS.new_key (fun () -> Domain.at_exit (fun () -> free_stacks ~keep:0))
let free_stacks_at_end () = Domain.DLS.get stacks_of_domain

module Sleeper = struct
  type t

  external create : unit -> t = "muster_sleeper_create"

  external sleep : t -> int -> bool = "muster_sleeper_sleep"
  (** For so many ms at most (negative: no limit); whether it was woken. *)

  external doze : t -> int -> bool = "muster_sleeper_doze"
  external wake : t -> unit = "muster_sleeper_wake" [@@noalloc]
end

let sleep_ms ms = ignore (Sleeper.sleep (Sleeper.create ()) ms)

module Canary = struct
  type t
  type watch

  external create : unit -> t * watch = "muster_canary_create"
  external is_dead : watch -> bool = "muster_canary_is_dead" [@@noalloc]
end

(* [Domain.spawn] draws the child's generator of [Random] from the parent's, which is the program's
   and must not depend on when domains come and go. So the parent's is put back. Each child gets
   another one, made of the parent's next draw and a number of its own, or all would draw the
   same. *)
let spawned = Atomic.make 0

let generator_of_child random =
  let random = Random.State.copy random in
  let seed = Array.init 4 (fun _ -> Random.State.bits random) in
  Random.State.make (Array.append seed [| Atomic.fetch_and_add spawned 1 |])

external keep_domain : int -> unit = "muster_keep_domain" [@@noalloc]
(** By 1: no other thread of this domain runs until the same by -1. *)

let spawn_drawing_nothing f =
  keep_domain 1;
  let random = Random.get_state () in
  let put_back () =
    Random.set_state random;
    keep_domain (-1)
  in
  let child's = generator_of_child random in
  let run () =
    Random.set_state child's;
    f ()
  in
  match Domain.spawn run with
  | domain ->
    put_back ();
    domain
  | exception exn ->
    put_back ();
    raise exn

let spawn ?(noted = ignore) f =
  hold_signals ();
  match spawn_drawing_nothing f with
  | domain ->
    noted domain;
    release_signals ();
    domain
  | exception exn ->
    release_signals ();
    raise exn

external start_thread : (unit -> unit) -> bool = "muster_start_thread"

external note_yields : unit -> unit = "muster_note_yields" [@@noalloc]

(* The module [Thread] prepares the runtime for threads. *)
let () =
  ignore (Thread.self ());
  note_yields ()
