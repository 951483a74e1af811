(* The waiting door without a scheduler. A party that waits is a continuation; the
   party that grants its waiter or kills it goes on with it at once, or leaves it to others
   ([resume]). *)

type state = Idle | Armed of (unit, unit) Effect.Deep.continuation | Granted | Dead
type t = state Atomic.t
type _ Effect.t += Wait : t -> unit Effect.t

(** Told of a wait before it begins; may refuse it by an exception. *)
type _ Effect.t += Begin : t -> unit Effect.t

exception Cancelled

let is_waiting w = match Atomic.get w with Idle | Armed _ -> true | Granted | Dead -> false
let was_granted w = match Atomic.get w with Granted -> true | Idle | Armed _ | Dead -> false

let go_on k = function
  | Granted -> Effect.Deep.continue k ()
  | Idle | Armed _ | Dead -> Effect.Deep.discontinue k Cancelled

(** How a continuation goes on. *)
let at_once f = f ()

let resume = ref at_once

let rec finish w verdict =
  match Atomic.get w with
  | Idle -> Atomic.compare_and_set w Idle verdict || finish w verdict
  | Armed k as seen ->
    if Atomic.compare_and_set w seen verdict then (
      !resume (fun () -> go_on k verdict);
      true)
    else finish w verdict
  | Granted | Dead -> false

let need_not_wait = ignore
let grant w = finish w Granted
let has_granted w = grant w || was_granted w
let kill w = ignore (finish w Dead)

(* {2 Continuations}

   One that the run leaves behind would keep its stack for ever: the collector does not free the stack of
   one that dies young. So they are all ended before the next run, in which they count for nothing. *)

let kept : (unit, unit) Effect.Deep.continuation list ref = ref []

let drop_kept () =
  let end_one k =
    try Atomic.without_steps (fun () -> Effect.Deep.discontinue k Atomic.Stopped) with _ -> ()
  in
  let all = !kept in
  kept := [];
  List.iter end_one all

let () = Atomic.at_start := drop_kept :: !Atomic.at_start

let wait _ register =
  let w = Atomic.make Idle in
  Effect.perform (Begin w);
  register w;
  Effect.perform (Wait w)

let wait_for event p =
  wait event (fun w ->
      Promise.on_done p ~is_live:(fun () -> is_waiting w) (fun () -> ignore (grant w)))

let wait_or_leave event register ~leave =
  try wait event register with exn -> if not (leave () && exn == Cancelled) then raise exn

let wait_firmly _ register =
  let w = Atomic.make Idle in
  register w;
  Effect.perform (Wait w)

let arm w k = if not (Atomic.compare_and_set w Idle (Armed k)) then go_on k (Atomic.get w)

(** [as_party ~begins f] runs [f] to its end, or as far as it comes without a grant. *)
let as_party ~begins f =
  let effc (type a) (eff : a Effect.t) =
    match eff with
    | Wait w ->
      Some
        (fun (k : (a, unit) Effect.Deep.continuation) ->
          kept := k :: !kept;
          arm w k)
    | Begin w ->
      Some
        (fun k ->
          match begins w with
          | () -> Effect.Deep.continue k ()
          | exception exn -> Effect.Deep.discontinue k exn)
    | _ -> None
  in
  Effect.Deep.match_with f () { retc = Fun.id; exnc = raise; effc }
