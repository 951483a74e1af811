(* What is stopped with what.

   A task stops with the scopes around it. Its home has their promises in its [lineage], the inner
   ones first; a scope's promise runs as long as the scope. To ask whether a task is stopped is to
   walk them: [is_stopped].

   A stop tells no task within the scope, but for those that wait. The first wait on a promise's
   behalf links it: it registers the promise's own stop with each promise of its lineage. (Picos, by
   Karvonen, attaches triggers to computations in this way.) So a stop reaches every wait within. A
   task may see a scope's stop before that comes to it, and end: then it stops itself first
   ([before_end]), so that its hooks are called all the same.

   A stop and a wait do not miss each other. The wait adds its entry, then links. If a promise was
   stopped before, it takes no entry, and the wait ends at once. Otherwise the stop finds the entry,
   as both go through the promise's one atomic.

   Kept values. A wait may get its event, a message, say, and its task be stopped before it goes on
   with it. The message would be lost with the task's value: so that value is kept ([keep]), until
   the fiber is told that it is cancelled ([keep_no_longer]). *)

(* A task that was stopped still tells so when it has ended, to tasks that outlive it. *)
let is_marked : 'a Promise.state -> bool = function
  | Running (_, { stopped; _ }) -> stopped
  | Raised { failure; after_stop; _ } -> after_stop || failure == Promise.cancelled
  | Ready _ | Returned _ -> false

let was_stopped p = is_marked (Promise.state p)

let has_ended_unstopped p =
  match Promise.state p with
  | Promise.Returned _ -> true
  | Raised _ as state -> not (is_marked state)
  | Ready _ | Running _ -> false

let rec is_orphan : Promise.lineage -> bool = function
  | Alone -> false
  | Within (p, outer) -> was_stopped p || is_orphan outer

let is_stopped p =
  let state = Promise.state p in
  is_marked state
  ||
  match state with
  | Ready (_, home, _) | Running (home, _) -> is_orphan home.lineage
  | Returned _ | Raised _ -> false

let run p =
  match Promise.state p with
  | Promise.Ready (_, { lineage = Within _ as lineage; _ }, _) when is_orphan lineage ->
    Promise.stop p;
    Promise.state p
  | Ready _ | Running _ | Returned _ | Raised _ -> Promise.run p

(* {2 The scopes that one fiber has opened} *)

(* The part of the program that opened the scope, if [p] is an open scope's. *)
let around_scope p =
  match Promise.state p with
  | Promise.Running ({ of_scope = true; lineage = Within (around, _); _ }, _) -> Some around
  | Ready _ | Running _ | Returned _ | Raised _ -> None

let rec is_strand_of p me =
  me == p || match around_scope me with Some around -> is_strand_of p around | None -> false

(* What another task was told, or got, is not this one's: hence no further. *)
let rec each_around f p =
  f p;
  Option.iter (each_around f) (around_scope p)

let set_kept kept p =
  let set a = if a.Promise.kept = kept then a else { a with kept } in
  ignore (Promise.change p set)

let keep p = each_around (fun p -> if is_stopped p then set_kept true p) p
let keep_no_longer p = each_around (set_kept false) p

(* {2 Entries for the stop} *)

(* May be done twice. *)
let rec register p : Promise.lineage -> unit = function
  | Alone -> ()
  | Within (outer, lineage) ->
    let is_live () = not (Promise.is_done p) in
    let is_added = Promise.add_hook ~is_live outer (fun () -> Promise.stop p) in
    if (not is_added) && was_stopped outer then Promise.stop p;
    register p lineage

(* Whether it is the first to do so. *)
let look_before_end p look =
  let set a =
    if Option.is_some a.Promise.before_end then a else { a with before_end = Some look }
  in
  Promise.change p set

let link p =
  match Promise.state p with
  | Promise.Running ({ lineage = Within _ as lineage; _ }, _) ->
    let stop_if_orphan () = if is_orphan lineage then Promise.stop p in
    if look_before_end p stop_if_orphan then Outcome.firmly register p lineage
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

let on_stop ~is_live p hook =
  if Promise.add_hook ~is_live p hook then link p else if is_stopped p then hook ()
