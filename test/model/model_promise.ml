(* The promise: parties that run, claim, skip or wait, in any number and order. One of them
   ends it, and every waiter is called once. *)

type party = Run | Claim | Stop | Wait | Wait_twice | Hook

let name_of = function
  | Run -> "run"
  | Claim -> "claim"
  | Stop -> "stop"
  | Hook -> "hook"
  | Wait -> "wait"
  | Wait_twice -> "wait twice"

exception Failed

(* Counted by the party that ends the promise, and by waiters that come too late. *)
type counts = {
  mutable runs : int;
  mutable stops : int;
  mutable hooks : int;  (** fired *)
  mutable unheard : int;
  mutable early : bool;  (** a waiter was called before the end *)
  wakes : int array;  (** by waiter *)
}

let waits = function Wait -> 1 | Wait_twice -> 2 | Run | Claim | Stop | Hook -> 0

let ends party = waits party = 0

let body counts ~fails () =
  counts.runs <- counts.runs + 1;
  if fails then raise Failed

let claim promise f =
  if Promise.claim promise then ignore (Promise.resolve promise (Promise.result_of f ()))

let stop counts promise =
  Promise.stop promise;
  counts.stops <- counts.stops + 1

(* Registered by the code that runs, as it waits on the task's behalf. *)
let hooked counts promise f () =
  Promise.on_stop promise (Entries.entry (fun () -> counts.hooks <- counts.hooks + 1));
  f ()

let hook counts promise f = claim promise (hooked counts promise f)

let await counts promise i =
  Promise.on_done promise (fun () ->
      counts.wakes.(i) <- counts.wakes.(i) + 1;
      if not (Promise.is_done promise) then counts.early <- true)

(* [first] is the number of this party's first waiter. *)
let process counts promise f first = function
  | Run -> fun () -> ignore (Promise.run promise)
  | Claim -> fun () -> claim promise f
  | Stop -> fun () -> stop counts promise
  | Hook -> fun () -> hook counts promise f
  | (Wait | Wait_twice) as party ->
    fun () ->
      for i = first to first + waits party - 1 do
        await counts promise i
      done

let verdict parties ~fails counts promise () =
  let ended = List.exists ends parties in
  let cancelled =
    Promise.state promise |> function
    | Promise.Raised { failure = { exn = Promise.Cancelled; _ }; _ } -> true
    | _ -> false
  in
  let times = if ended then 1 else 0 in
  let raised = fails && counts.runs = 1 in
  Model.faults
    [
      ( "did not run once, nor was stopped",
        counts.runs <> times && not (counts.runs = 0 && cancelled) );
      ("cancelled, and nobody stopped it", cancelled && counts.stops = 0);
      ("a hook was called twice, or without a stop", counts.hooks > min 1 counts.stops);
      ( "a hook was called, and a value came",
        counts.hooks > 0 && match Promise.state promise with Returned _ -> true | _ -> false );
      ("not done", Promise.is_done promise <> ended);
      ("a waiter was not called", Array.exists (fun n -> n < times) counts.wakes);
      ("a waiter was called too often", Array.exists (fun n -> n > times) counts.wakes);
      ("a waiter was called before the end", counts.early);
      ("reported twice, or no failure", counts.unheard > if raised then 1 else 0);
      ( "a failure not reported",
        raised && (not cancelled) && counts.wakes = [||] && counts.unheard = 0 );
    ]

let model ~fails parties =
  let start () =
    let waiters = List.fold_left (fun sum party -> sum + waits party) 0 parties in
    let wakes = Array.make waiters 0 in
    let counts = { runs = 0; stops = 0; hooks = 0; unheard = 0; early = false; wakes } in
    let unheard _ _ = counts.unheard <- counts.unheard + 1 in
    let f = body counts ~fails in
    let promise = Promise.(make (home ~unheard Nobody)) f in
    let add (first, processes) party =
      (first + waits party, process counts promise f first party :: processes)
    in
    let _, processes = List.fold_left add (0, []) parties in
    Model.{ processes; verdict = verdict parties ~fails counts promise }
  in
  let kind = if fails then "promise that fails" else "promise that returns" in
  Model.make (String.concat ", " (kind :: List.map name_of parties)) start

(* {2 Promises that no task runs} *)

(* Each resolver brings its own number. A waiter is called once, and a value is that of the one that
   succeeded; a stop ends the promise, as in src/tasks/resolver.ml. *)
type ender = Resolves | Fails | Cancels | Awaits

let ender_name = function
  | Resolves -> "resolve"
  | Fails -> "fail"
  | Cancels -> "cancel"
  | Awaits -> "wait"

let open_promise () =
  let promise = Promise.(started (home ~unheard:(fun _ _ -> ()) Nobody)) in
  let end_it () = ignore (Promise.try_resolve promise (Promise.raised Promise.cancelled)) in
  Promise.on_stop promise (Entries.entry end_it);
  promise

let failure = { Outcome.exn = Failed; backtrace = Printexc.get_callstack 0 }

let resolved enders =
  let start () =
    let promise = open_promise () and winners = ref [] in
    let wakes = Array.make (List.length enders) 0 in
    let ends i result = if Promise.try_resolve promise result then winners := i :: !winners in
    let wake i () = wakes.(i) <- wakes.(i) + 1 in
    let process i = function
      | Resolves -> fun () -> ends i (Returned i)
      | Fails -> fun () -> ends i (Promise.raised failure)
      | Cancels -> fun () -> Promise.stop promise
      | Awaits -> fun () -> Promise.on_done promise (wake i)
    in
    let verdict () =
      let is_ended = List.exists (fun e -> e <> Awaits) enders in
      let by = function [ i ] -> Some i | _ -> None in
      let is_right =
        match Promise.state promise with
        | Returned i -> by !winners = Some i && List.nth enders i = Resolves
        | Raised { failure = { exn = Failed; _ }; _ } -> List.length !winners = 1
        | Raised _ -> List.mem Cancels enders && List.length !winners <= 1
        | Ready _ | Running _ -> not is_ended
      in
      let times i = if is_ended && List.nth enders i = Awaits then 1 else 0 in
      Model.faults
        [
          ("not ended, or by nobody, or by two", not is_right);
          ("a waiter was not called once", Array.exists Fun.id (Array.mapi (fun i n -> n <> times i) wakes));
        ]
    in
    Model.{ processes = List.mapi process enders; verdict }
  in
  Model.make (String.concat ", " ("promise to resolve" :: List.map ender_name enders)) start

let to_resolve size =
  List.map resolved (Model.choices size [ Resolves; Fails; Cancels; Awaits ])

(* Of three, none waits twice: that has too many orders. *)
let models size =
  let twice = if size < 3 then [ Wait_twice ] else [] in
  let choices =
    Model.choices size ([ Run; Claim; Stop; Wait; Hook ] @ twice)
  in
  List.concat_map (fun fails -> List.map (model ~fails) choices) [ false; true ] @ to_resolve size
