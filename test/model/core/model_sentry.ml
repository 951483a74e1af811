(* A sentry that stops watching a pool while a task comes: it looks again, or its publisher wakes it. *)

open Place

type t = { pool : pool; mutable watches : bool }

let make () =
  let pool = World.pool 2 ~residents:0 ~watch:Sentry.watch ~calls:false in
  Atomic.set pool.allowed 0;
  Atomic.set pool.sentry on_watch;
  Atomic.set Sentry.thread Here;
  { pool; watches = false }

(* {2 Parties} *)

(* Nothing has waited for long. *)
let gives_up t () =
  Sentry.give_up t.pool;
  if not (Sentry.is_watched t.pool) then ignore (Machine.Sleeper.doze Sentry.sleeper (-1));
  t.watches <- Sentry.is_watched t.pool

(* It waits for the task in a way that the pool does not see. *)
let offers t =
  World.at t.pool 0 (fun w -> Publish.offer w ~wake:true Promise.(any (make t.pool.home ignore)))

(* By one who has sealed its place: the push is no fence. *)
let offers_unfenced t =
  World.at t.pool 0 (fun w ->
      Place.seal w;
      Publish.offer_unfenced w Promise.(any (make t.pool.home ignore)))

(* {2 Models} *)

let model name offers =
  let start () =
    let t = make () in
    let verdict () = Model.faults [ ("nobody watches", not t.watches) ] in
    Model.{ processes = [ gives_up t; offers t ]; verdict }
  in
  Model.make ("sentry: " ^ name) start

let quick =
  [
    model "it gives up while a task is offered" offers;
    model "it gives up while a task is offered without a fence" offers_unfenced;
  ]
