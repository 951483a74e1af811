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
  {
    number;
    body;
    cancellable;
    ended = false;
    was_told = false;
    stopped = Atomic.make false;
    wait = Atomic.make None;
  }

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
  Waiter.as_party ~begins:(begins t) (fun () -> Fiber.as_number t.number body)

(** A process of its own that cancels this one. *)
let cancel t () =
  Atomic.set t.stopped true;
  Option.iter Waiter.kill (Atomic.get t.wait)

(** As the first party, before they begin. *)
let beforehand f = Waiter.as_party ~begins:ignore (fun () -> Fiber.as_number 1 f)

(** As a party with no other name, to look at the end. *)
let afterwards f =
  let result = ref None in
  Waiter.as_party ~begins:ignore (fun () ->
      Fiber.as_number 1_000 (fun () -> result := Some (f ())));
  !result

let is_stuck t = not t.ended

(** [cancelled]: numbers of those that are cancelled. *)
let all ~cancelled bodies =
  let party i body = make ~cancellable:(List.mem i cancelled) (i + 1) body in
  List.mapi party bodies

(* {2 A worker of its own for those that were woken}

   It runs them beside the others, or a party that is done does so. *)

let push ready f =
  let rec again () =
    let seen = Atomic.get ready in
    if not (Atomic.compare_and_set ready seen (seen @ [ f ])) then again ()
  in
  again ()

let rec drain ready =
  match Atomic.get ready with
  | [] -> ()
  | f :: rest as seen ->
    if Atomic.compare_and_set ready seen rest then f ();
    drain ready

let beside processes =
  let ready = Atomic.make [] in
  Waiter.resume := push ready;
  let worker () = drain ready in
  List.map
    (fun process () ->
      process ();
      drain ready)
    (processes @ [ worker ])

let processes ~asleep ~cancelled parties =
  let awake i = not (List.mem i asleep) in
  List.map run (List.filteri (fun i _ -> awake i) parties)
  @ List.map (fun i -> cancel (List.nth parties i)) cancelled

(** The usual model: [start ()] is what the bodies share, their bodies, and what to ask at the end.
    [asleep] go first, one after the other, as far as they come: that makes for few orders.
    [worker]: there is one more process, which runs those that are woken. *)
let model name ?(asleep = []) ?(worker = false) ?(cancelled = []) start =
  let start () =
    let bodies, faults = start () in
    let parties = all ~cancelled bodies in
    Waiter.resume := Waiter.at_once;
    List.iter (fun i -> run (List.nth parties i) ()) asleep;
    let verdict () =
      Model.faults (("a party waits for ever", List.exists is_stuck parties) :: faults ())
    in
    let processes = processes ~asleep ~cancelled parties in
    Model.{ processes = (if worker then beside processes else processes); verdict }
  in
  let suffix i = Printf.sprintf ", %d is cancelled" i in
  Model.make (name ^ String.concat "" (List.map suffix cancelled)) start
