(* Tasks with a promise that anyone may await, from anywhere. *)

type 'a t = 'a Promise.t

let set_uncaught_handler = Uncaught.set_handler

let send (pool : Pool.t) f =
  let promise = Promise.make pool.home f in
  Visit.refuse_or_send "Task.async" pool (Promise.any promise);
  promise

let offer (w : Place.t) f =
  let promise = Promise.make w.pool.home f in
  if Atomic.get w.pool.guards = 0 && Atomic.get w.pool.size > 1 then Atomic.set w.pool.guards 1;
  Place.offer w ~wake:true (Promise.any promise);
  promise

let async f =
  let w = Place.current () in
  if Place.owned w then offer w f
  else send (if w == Place.nobody then Pool.default () else w.pool) f

(* {2 Await} *)

(* A task that nobody has begun runs in place: its waiter would wait anyway. Its entry stays in
   the deque until the owner pushes again (Place.offer): that spares this path, the cost of a
   task, the question whether this thread is the owner. *)
let run_or_wait state t =
  match Promise.run_from state t with
  | Running _ -> Visit.wait t; Promise.state t
  | (Ready _ | Returned _ | Raised _) as ended -> ended

let await_as_worker t w =
  Worker.serve w;
  run_or_wait (Promise.state t) t

let await_from_outside t (pool : Pool.t) =
  match Visit.own_place pool with
  | Some w -> Visit.again w (await_as_worker t)
  | None -> (
    match if Atomic.get pool.closing then None else Visit.try_enter pool with
    | Some visit -> Visit.visiting visit (await_as_worker t)
    | None -> run_or_wait (Promise.state t) t)

let settle state t (home : Promise.home) =
  let w = Place.current () in
  if w.pool.home != home then
    match home.owner with
    | Place.Pool pool -> await_from_outside t pool
    | _ -> run_or_wait state t
  else if Atomic.get w.mailbox != Idle && Place.owned w then await_as_worker t w
  else run_or_wait state t

let await t =
  let state = Promise.state t in
  match state with
  | Promise.Returned _ | Promise.Raised _ -> Promise.value state
  | Promise.Ready (_, home, _) | Running (home, _) -> Promise.value (settle state t home)

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
