(* Tasks with a promise that anyone may await, from anywhere. *)

type 'a t = { promise : 'a Promise.t; pool : Pool.t }

let set_uncaught_handler = Uncaught.set_handler

let send pool ~unheard f =
  let promise = Promise.make ~unheard f in
  Visit.refuse_or_send "Task.async" pool (Any promise);
  { promise; pool }

let offer (w : Place.t) ~unheard f =
  let promise = Promise.make ~unheard f in
  let { Place.uses_async; _ } = w.pool in
  if not (Atomic.get uses_async) then Atomic.set uses_async true;
  Place.offer w ~wake:true (Any promise);
  { promise; pool = w.pool }

let async f =
  let w = Place.current () in
  if Place.owned w then offer w ~unheard:w.pool.unheard f
  else
    let pool = if w == Place.nobody then Pool.default () else w.pool in
    send pool ~unheard:pool.unheard f

(* {2 Await} *)

(* A task that nobody has begun runs in place: its waiter would wait anyway. Its entry stays in
   the deque until the owner pushes again (Place.offer): that spares this path, the cost of a
   task, the question whether this thread is the owner. *)
let run_or_wait t =
  Promise.run t.promise;
  if not (Promise.is_done t.promise) then Visit.wait t.promise

let await_as_worker t w =
  Worker.serve w;
  run_or_wait t

let await_from_outside t =
  match Visit.own_place t.pool with
  | Some w -> Visit.again w (await_as_worker t)
  | None -> (
    match if Atomic.get t.pool.closing then None else Visit.try_enter t.pool with
    | Some visit -> Visit.visiting visit (await_as_worker t)
    | None -> run_or_wait t)

let settle t =
  let w = Place.current () in
  if w.pool != t.pool then await_from_outside t
  else if Atomic.get w.mailbox != Idle && Place.owned w then await_as_worker t w
  else run_or_wait t

let await t =
  (match Atomic.get t.promise.state with
   | Returned _ | Raised _ -> ()
   | Ready _ | Running _ -> settle t);
  Promise.result t.promise

(* {2 Several} *)

(* Waits for a task without minding how it ended. *)
let outcome t =
  match await t with
  | v -> Ok v
  | exception exn -> Error (Outcome.caught exn)

let guarded ~skip ~note i f () =
  if skip i then raise Promise.Skipped;
  try f ()
  with exn ->
    let failure = Outcome.caught exn in
    note i failure;
    Outcome.raise failure

(* All at once; every one has ended when it returns. *)
let outcomes ~skip ~note fs =
  let start i f = async (guarded ~skip ~note i f) in
  let in_pool () = List.map outcome (List.mapi start fs) in
  Pool.with_current ~in_place:in_pool (fun _ -> in_pool ())

let all fs =
  let failures = Leftmost.create () in
  let results = outcomes fs ~skip:(Leftmost.stops failures) ~note:(Leftmost.note failures) in
  Leftmost.reraise failures;
  List.map (function Ok v -> v | Error failure -> Outcome.raise failure) results

let first fs =
  if fs = [] then invalid_arg "Muster.Task.first: empty list";
  let winner = Atomic.make None in
  let failures = Leftmost.create () in
  let race f () =
    let v = f () in
    ignore (Atomic.compare_and_set winner None (Some v))
  in
  let skip _ = Atomic.get winner <> None in
  ignore (outcomes (List.map race fs) ~skip ~note:(Leftmost.note failures));
  match Atomic.get winner with
  | Some v -> v
  | None -> Leftmost.reraise failures; assert false
