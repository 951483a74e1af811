(* A sentry that stops watching a pool while a task comes: it looks again, or its publisher wakes it. And one with a domain of
   its own that leaves meanwhile: it stays, or another one comes. *)

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

let leaves (_ : t) () = ignore (Sentry.stays { in_own_domain = true; has_left = false })
let makes_it_watched t () = Sentry.watch t.pool

(* {2 Models} *)

let model name parties fault =
  let start () =
    let t = make () in
    let processes = parties t in
    let verdict () = Model.faults [ fault t ] in
    Model.{ processes; verdict }
  in
  Model.make ("sentry: " ^ name) start

let gives_up_while name offers =
  model
    ("it gives up while a task is offered" ^ name)
    (fun t -> [ gives_up t; offers t ])
    (fun t -> ("nobody watches", not t.watches))

let leaves_while_needed =
  model "it leaves while a pool is to be watched"
    (fun t ->
      Atomic.set t.pool.sentry wanted;
      Domain.in_main := false;
      Domain.prepare ~first:2 1;
      [ leaves t; makes_it_watched t ])
    (fun t -> ("nobody is there", Sentry.is_watched t.pool && Atomic.get Sentry.thread = Absent))

let quick =
  [
    gives_up_while "" offers; gives_up_while " without a fence" offers_unfenced; leaves_while_needed;
  ]
