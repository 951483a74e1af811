(* Parties that wait for each other, some of which may be cancelled. Like a task, a party is told
   once that it is cancelled: where it waits, or is about to. *)

type t = {
  number : int;
  mutable ended : bool;
  mutable was_told : bool;
  stopped : bool Atomic.t;
  wait : Waiter.t option Atomic.t;
  cancellable : bool;
  body : unit -> unit;
}

let make ?(cancellable = false) number body =
  { number; body; cancellable; ended = false; was_told = false;
    stopped = Atomic.make false; wait = Atomic.make None }

let begins t w =
  if t.cancellable && not t.was_told then begin
    Atomic.set t.wait (Some w);
    if Atomic.get t.stopped then raise Waiter.Cancelled
  end

let run t () =
  let body () =
    (try t.body () with Waiter.Cancelled -> t.was_told <- true);
    t.ended <- true
  in
  Waiter.as_party ~begins:(begins t) (fun () -> Strand.as_number t.number body)

(** A process of its own that cancels this one. *)
let cancel t () =
  Atomic.set t.stopped true;
  Option.iter Waiter.kill (Atomic.get t.wait)

(** As a party with no other name, to look at the end. *)
let afterwards f =
  let result = ref None in
  Waiter.as_party ~begins:ignore (fun () ->
      Strand.as_number 1_000 (fun () -> result := Some (f ())));
  !result

let is_stuck t = not t.ended

(** [cancelled]: numbers of those that are cancelled. *)
let all ~cancelled bodies =
  let party i body = make ~cancellable:(List.mem i cancelled) (i + 1) body in
  List.mapi party bodies

let processes ~cancelled parties =
  List.map run parties @ List.map (fun i -> cancel (List.nth parties i)) cancelled

(** The usual model: [start ()] is what the bodies share, their bodies, and what to ask at the end. *)
let model name ?(cancelled = []) start =
  let start () =
    let bodies, faults = start () in
    let parties = all ~cancelled bodies in
    let verdict () =
      Model.faults (("a party waits for ever", List.exists is_stuck parties) :: faults ())
    in
    Model.{ processes = processes ~cancelled parties; verdict }
  in
  let suffix i = Printf.sprintf ", %d is cancelled" i in
  Model.{ name = name ^ String.concat "" (List.map suffix cancelled); start }
