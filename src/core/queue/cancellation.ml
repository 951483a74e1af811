(* How a stop reaches the tasks of a scope, and their waits.

   A task stops with the scopes around it. Its home has their promises in its [lineage], the inner
   ones first; a scope's promise runs as long as the scope. [is_stopped] walks them.

   A stop tells no task within the scope, but for those that wait. The first wait on a promise's
   behalf links it: it registers the promise's own stop with each promise of its lineage. (Picos, by
   Karvonen, attaches triggers to computations in this way.) So a stop reaches every wait within. A
   task may see a scope's stop before that comes to it, and end: then it stops itself first
   ([Promise.resolve]), so that its hooks are called all the same.

   A stop and a wait do not miss each other. The wait adds its entry, then links. If a promise was
   stopped before, it takes no entry, and the wait ends at once. Otherwise the stop finds the entry,
   as both go through the promise's one atomic.

   Kept values. A wait may get its event, a message, say, and its task be stopped before it goes on
   with it. The message would be lost with the task's value: so that value is kept ([keep]), until
   the fiber is told that it is cancelled ([keep_no_longer]). *)

let is_stopped p =
  match Promise.state p with
  | (Promise.Ready (_, home, _) | Running (home, _)) as state ->
    Promise.is_marked state || Promise.is_orphan home.lineage
  | (Returned _ | Raised _) as state -> Promise.is_marked state

(* {2 The scopes that one fiber has opened} *)

(* The part of the program that opened the scope, if [p] is an open scope's. *)
let around_scope p =
  match Promise.state p with
  | Promise.Running ({ of_scope = true; lineage = Within (around, _); _ }, _) -> Some around
  | Ready _ | Running _ | Returned _ | Raised _ -> None

let rec is_own_part p me =
  me == p || match around_scope me with Some around -> is_own_part p around | None -> false

(* Another task is told, and gets its events, by itself: hence no further. *)
let rec each_around f p =
  f p;
  Option.iter (each_around f) (around_scope p)

let keep p = each_around (fun p -> if is_stopped p then Promise.set_kept true p) p
let keep_no_longer p = each_around (Promise.set_kept false) p

(* {2 Entries for the stop} *)

(* May be done twice. *)
let rec register p : Promise.lineage -> unit = function
  | Alone -> ()
  | Within (outer, lineage) ->
    let is_live () = not (Promise.is_done p) in
    let is_added = Promise.add_hook ~is_live outer (fun () -> Promise.stop p) in
    if (not is_added) && Promise.is_marked (Promise.state outer) then Promise.stop p;
    register p lineage

let link p =
  match Promise.state p with
  | Promise.Running ({ lineage = Within _ as lineage; _ }, _) ->
    if Promise.note_linked p then Outcome.firmly register p lineage
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

let on_stop ~is_live p hook =
  if Promise.add_hook ~is_live p hook then link p else if is_stopped p then hook ()
