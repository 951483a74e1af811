(* One wait for one event, cancelled or interrupted meanwhile. The event is either consumed by the
   wait that returns, or still there: never lost. Who is neither granted nor told sleeps for ever. *)

open Slot
open Place

type slot = Nothing | Waiting of Waiter.t | Event
type ending = Consumed | Told | Broken

type t = {
  pool : pool;
  slot : slot Atomic.t;
  context : Promise.any;
  outer : unit Promise.t;  (** a scope around it *)
  mutable endings : ending list;  (** of the waits, the last first *)
}

let make () =
  let pool = World.pool 1 in
  let outer = Promise.(started nowhere) in
  let within = Promise.(within (any outer) Alone) in
  let home =
    Promise.home ~lineage:within ~unheard:(fun _ _ -> ()) (Pool pool)
  in
  { pool; outer; slot = Atomic.make Nothing; context = Promise.started home; endings = [] }

(* {2 The event} *)

let rec register t w =
  match Atomic.get t.slot with
  | Event -> if Waiter.grant w then Atomic.set t.slot Nothing
  | (Nothing | Waiting _) as seen ->
    if not (Atomic.compare_and_set t.slot seen (Waiting w)) then register t w

let rec grant t () =
  match Atomic.get t.slot with
  | Nothing as seen -> if not (Atomic.compare_and_set t.slot seen Event) then grant t ()
  | Waiting w as seen ->
    if Atomic.compare_and_set t.slot seen Nothing && Waiter.grant w then () else grant t ()
  | Event -> ()

(* {2 Who waits: on a worker, whose code is part of [context]} *)

let ending f =
  match f () with
  | () -> Consumed
  | exception Promise.Cancelled -> Told
  | exception Stdlib.Sys.Break -> Broken

let waits wait t = t.endings <- ending (fun () -> wait (register t)) :: t.endings

(* A fiber that was told may wait once more, for something that is there, and is not told again. *)
let waits_again t =
  waits (Waiter.wait (Event.make "a test")) t;
  Atomic.set t.slot Event;
  waits (Waiter.wait (Event.make "a test")) t

let helps t body =
  World.at t.pool 0 (fun w ->
      Fiber.put w (Fiber.above w ~handled:false t.context w.pool.home);
      body t)

(* As a task under the worker's handler, so that it is suspended. *)
let suspends t body =
  World.at t.pool 0 (fun w ->
      let f () =
        Fiber.become (current ())
          { of_ = t.context; tasks = t.pool.home; met_checkpoint = false };
        body t
      in
      let task = Promise.make t.pool.home f in
      Run.execute w ~records:false (Promise.any task);
      Worker.work w ~on_top:false ~until:(fun () -> Promise.is_done task))

let verdict ?(late = false) t ~grants ~events ~stops ~firm () =
  let count ending = List.length (List.filter (( = ) ending) t.endings) in
  let event_left = Atomic.get t.slot = Event in
  Model.faults
    [
      ("consumed, and still there", grants = 1 && count Consumed = 1 && event_left);
      ("an event was lost", grants > 0 && count Consumed = 0 && not event_left);
      ("consumed without an event", count Consumed > min 1 events);
      ("told, and nobody stopped it", count Told > 0 && stops = 0);
      ("consumed what came after the stop", late && count Consumed > 0);
      ("told twice", count Told > 1);
      ("told in a firm wait", firm && count Told > 0);
      ("waits for ever", Atomic.is_blocked 0);
    ]

type stop = Itself | Around | Called_up  (** and all workers are called up, as Fiber does it *)

let stop t what () =
  match what with
  | Itself -> Promise.stop t.context
  | Around -> Promise.stop t.outer
  | Called_up -> Fiber.stop t.context

let name_of = function
  | Itself -> "it is stopped"
  | Around -> "a scope around it is stopped"
  | Called_up -> "it is stopped and called up"

let model ?(firm = false) ?(prepare = ignore) ?(what = "") ?(grants = 0) ?(events = grants)
    (how, on_worker) body stops =
  let start () =
    let t = make () in
    prepare ();
    if not (List.mem Called_up stops) then Place.(attend stops true);
    let others = List.init grants (fun _ -> grant t) @ List.map (stop t) stops in
    Model.
      {
        processes = on_worker t body :: others;
        verdict = verdict t ~grants ~events ~stops:(List.length stops) ~firm;
      }
  in
  let name =
    Printf.sprintf "waiter that %s%s, %d grants%s" how what grants
      (String.concat "" (List.map (fun s -> ", " ^ name_of s) stops))
  in
  Model.make name start

let once = waits (Waiter.wait (Event.make "a test"))

(* Two stop it, and one of them grants afterwards: the other may still be on its way to the wait. *)
let stopped_before (how, on_worker) =
  let start () =
    let t = make () in
    Place.(attend stops true);
    let stops = stop t Around in
    let stops_and_grants () =
      stops ();
      grant t ()
    in
    Model.
      {
        processes = [ on_worker t once; stops; stops_and_grants ];
        verdict = verdict t ~late:true ~grants:1 ~events:1 ~stops:2 ~firm:false;
      }
  in
  Model.make (Printf.sprintf "waiter that %s, stopped by two before the grant" how) start

(* The second wait arms the fiber's entry again. Meanwhile one more entry comes to the context, which
   forgets those at rest if it has seven [stale] ones beside the fiber's. *)
let rearmed ~stale what =
  let start () =
    let t = make () in
    let fiber = Fiber.make Place.nobody t.context Promise.nowhere and told = ref false in
    let add () = Promise.on_stop t.context (Entries.entry ~is_live:(fun () -> false) ignore) in
    for _ = 1 to stale do
      add ()
    done;
    let wait_for_stop wake =
      let hook = Fiber.own_hook fiber in
      Fiber.heed_stop fiber hook wake;
      hook
    in
    let waits_twice () =
      let granted () = () in
      Entries.rest (wait_for_stop granted) granted;
      ignore (wait_for_stop (fun () -> told := true))
    in
    let verdict () = Model.faults [ ("not told", not !told) ] in
    Model.{ processes = [ waits_twice; stop t what; add ]; verdict }
  in
  Model.make (Printf.sprintf "fiber that waits twice, %d stale entries, %s" stale (name_of what)) start

let firmly = waits (Waiter.wait_firmly (Event.make "a test"))
let is_interrupted () = Machine.(early := [ (0, Interrupt) ])

let ways on_worker =
  [
    model on_worker once [] ~grants:1;
    model on_worker once [ Called_up ];
    model on_worker once [ Around ];
    model on_worker once [ Around ] ~grants:1;
    model on_worker firmly [ Itself ] ~grants:1 ~firm:true ~what:" firmly";
    model on_worker waits_again [ Itself ] ~events:1 ~what:" twice";
  ]

let both = [ ("helps", helps); ("suspends", suspends) ]

let quick =
  List.concat_map ways both
  @ [ model ("helps", helps) once [] ~grants:1 ~what:", interrupted" ~prepare:is_interrupted ]
  @ List.map (rearmed ~stale:7) [ Itself; Around ]

let slow =
  List.map (fun on_worker -> model on_worker once [ Itself ] ~grants:1) both
  @ List.map (rearmed ~stale:0) [ Itself; Around ]
  @ [
      (* More than 5 million runs each. *)
      Model.bounded 1_000_000 (stopped_before ("helps", helps));
      Model.bounded 1_000_000 (model ("helps", helps) once [ Itself; Around ] ~grants:1);
      model ("helps", helps) once [ Itself ] ~grants:1 ~what:", interrupted" ~prepare:is_interrupted;
    ]
