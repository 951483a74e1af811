(* The library does not tell whether anybody has set its function. So a trigger is known by the code
   of its [release]: the library's own, of which one is made before a scheduler runs; ours; or
   another scheduler's. *)

module Library = Domain_local_await

type trigger = Library.t = { release : unit -> unit; await : unit -> unit }

let ours prepare () =
  let { release; await } = prepare () in
  { release = (fun () -> release ()); await }

let code { release; _ } = Machine.code_of release
let default_code = code (Library.prepare_for_await ())
let own_code = code (ours (fun () -> { release = ignore; await = ignore }) ())

let within prepare f =
  Library.using ~prepare_for_await:(ours prepare) ~while_running:f

(* Whether this domain's threads have ways of their own, as far as we made it so. *)
let are_apart = Domain.DLS.new_key (fun () -> false)
let has_each_its_own () = Domain.DLS.get are_apart

let each_thread (type thread) ~self ~id =
  let module Thread = struct
    type t = thread

    let self = self
    let id = id
  end in
  Library.per_thread (module Thread);
  Domain.DLS.set are_apart true

(* {2 Other schedulers} *)

let foreign () =
  let trigger = Library.prepare_for_await () in
  let code = code trigger in
  if code = default_code || code = own_code then None else Some trigger

(* The constructors of their cancellations, of which each program has one or two. *)
let cancellations : Obj.Extension_constructor.t list Atomic.t = Atomic.make []
let constructor = Obj.Extension_constructor.of_val
let is_cancellation exn = List.memq (constructor exn) (Atomic.get cancellations)

let rec note exn =
  let seen = Atomic.get cancellations in
  if not (List.memq (constructor exn) seen || exn == Sys.Break) then
    if not (Atomic.compare_and_set cancellations seen (constructor exn :: seen)) then note exn

(* A scheduler lets others run before it tells a fiber that it is cancelled, each time that the
   fiber would wait. *)
let await ~firmly trigger =
  match trigger.await () with
  | () -> true
  | exception Effect.Unhandled _ -> false
  | exception exn ->
    let failure = Outcome.caught exn in
    note exn;
    if firmly && is_cancellation exn then true else Outcome.raise failure
