(* This module works only while [MUSTER_STATS] is set. A task's home then has the place of its
   start, among the values that tasks inherit (for [muster race] under [MUSTER_RACE], too), and each
   wait has an entry in [all] from its beginning to its end. *)

module P = Place

let is_on, ignored =
  match Sys.getenv_opt "MUSTER_STATS" with
  | None | Some ("" | "0") -> (false, None)
  | Some "1" -> (true, None)
  | ignored -> (false, ignored)

let shows_forks = Machine.shows_calls && Sys.getenv_opt "MUSTER_RACE" = Some "1"

(* {2 Places in the program} *)

(* A call of Muster's has its own functions below it: the user's comes after them. *)
let depth = 24

(* Below a task's calls are those of the code that happens to run it, which are none of its own:
   below a caller's, those that led to its call. *)
type spot = { calls : Printexc.raw_backtrace; in_task : bool }

let here () =
  let is_task (w : P.t) = Option.is_none w.own.fiber.call in
  let in_task = Option.fold (P.owned_place ()) ~none:false ~some:is_task in
  { calls = Printexc.get_callstack depth; in_task }

let own = [ "Muster"; "Domainslib"; "Stdlib"; "CamlinternalLazy"; "Thread." ]

let is_own slot =
  let starts_with_one name = List.exists (fun prefix -> String.starts_with ~prefix name) own in
  Option.fold (Printexc.Slot.name slot) ~none:true ~some:starts_with_one

let is_bottom slot = Printexc.Slot.name slot = Some "Muster_sched__Run.run_task"

(* A call in tail position leaves no trace of its caller. *)
let place { calls; in_task } =
  let slots = Option.value (Printexc.backtrace_slots calls) ~default:[||] in
  let users slot = if is_own slot then None else Printexc.Slot.location slot in
  let rec first = function
    | slot :: _ when in_task && is_bottom slot -> ""
    | slot :: below -> Option.fold (users slot) ~none:(fun () -> first below) ~some:text ()
    | [] -> ""
  and text { Printexc.filename; line_number; _ } () =
    Printf.sprintf " at %s:%d" filename line_number
  in
  first (Array.to_list slots)

let place_here () = place (here ())

(* {2 Starts} *)

let key : spot Type.Id.t = Type.Id.make ()

let start_in (Promise.Local (id, v)) : spot option =
  match Type.Id.provably_equal id key with Some Equal -> Some v | None -> None

let[@inline never] marked (home : Promise.home) =
  let { Promise.owner; unheard; lineage; opened_by; locals; _ } = home in
  let others = List.filter (fun it -> start_in it = None) locals in
  let locals = Promise.Local (key, here ()) :: others in
  Promise.home ~lineage ~locals ?opened_by ~unheard owner

let[@inline] started home = if is_on || shows_forks then marked home else home

let below_fork (home : Promise.home) f x =
  match List.find_map start_in home.locals with
  | None -> f x
  | Some start -> Machine.below_calls start.calls f x

(* Its maker looks at the result. *)
let branch home f =
  let { Promise.unheard; owner; _ } = Promise.nowhere in
  Promise.make (Promise.home ~locals:home.Promise.locals ~unheard owner) f

(* {2 Waits} *)

type wait = {
  event : Event.t;
  pool : string option;
  start : spot option;
  from : spot;
  since : int;
  number : int;  (* as the holder of a lock (Fiber); 0: not drawn *)
}

module Numbers = Map.Make (Int)

(* In the order in which they began. *)
let all = Atomic.make Numbers.empty
let begun = Atomic.make 0

let wait_for event (by : P.t option) =
  let start = Option.bind by (fun w -> List.find_map start_in w.own.fiber.home.locals) in
  let number = match by with Some w -> w.own.fiber.number | None -> Machine.thread_id () in
  let pool = Option.map (fun (w : P.t) -> w.pool.name) by in
  { event; pool; start; from = here (); since = Machine.now (); number }

let remove key () = P.change all (Numbers.remove key)

let noted event by f =
  let key = Atomic.fetch_and_add begun 1 and wait = wait_for event by in
  let no_longer key = Outcome.firmly remove key () in
  let wait () =
    P.change all (Numbers.add key wait);
    f ()
  in
  Outcome.finally no_longer key wait ()

(* {2 The report} *)

let started_at start = match place start with "" -> "" | at -> " started" ^ at

let party { pool; start; number; _ } =
  match (pool, start) with
  | None, _ -> Printf.sprintf "thread %d in no pool" number
  | Some pool, None -> Printf.sprintf "a caller of pool %S" pool
  | Some pool, Some start -> Printf.sprintf "a task of pool %S%s" pool (started_at start)

let waits () = List.map snd (Numbers.bindings (Atomic.get all))

let holder number =
  let is_it wait = number <> 0 && wait.number = number in
  let tell it = ", held by " ^ party it in
  Option.fold (List.find_opt is_it (waits ())) ~none:"" ~some:tell

let task p =
  match Promise.state p with
  | Ready (_, home, _) | Running (home, _) ->
    let at = Option.fold (List.find_map start_in home.locals) ~none:"" ~some:started_at in
    if at = "" then "" else " of the task" ^ at
  | Returned _ | Raised _ -> ""

let about event tell it = if is_on then { event with Event.about = (fun () -> tell it) } else event

let tell now ({ event; from; since; _ } as wait) =
  let seconds = float (now - since) /. 1e9 and about = event.about () and at = place from in
  let comma = if about <> "" && at <> "" then "," else "" in
  Printf.sprintf "%s waits for %s%s%s%s, for %.1f s" (party wait) event.call about comma at seconds

let report () =
  let now = Machine.now () in
  List.map (tell now) (waits ())
