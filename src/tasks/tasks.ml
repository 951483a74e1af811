type 'a t = 'a Promise.t

let is_done = Promise.is_done

(* {2 Looks} *)

(* The program has seen the failure: nobody need be told of it. *)
let peek t =
  match Promise.state t with
  | Ready _ | Running _ -> None
  | Returned v -> Some (Ok v)
  | Raised { failure; heard; _ } ->
    Atomic.set heard Promise.Heard;
    Some (Error failure.exn)

(* {2 The first of several}

   One waiter, with an entry at each promise that has not ended. The party that ends a promise
   grants it, if there is a value or no promise is left. It has written its own state before: so the
   party that ends the last one finds all ended. A failure is told to nobody while the entry is
   live, and to the handler afterwards, as any that nobody awaits. An entry that stays, where the
   wait is over, has none of the other promises. *)

let has_value t = match Promise.state t with Returned _ -> true | _ -> false
let settled ts = List.exists has_value ts || List.for_all is_done ts

let home_of t =
  match Promise.state t with
  | Ready (_, home, _) | Running (home, _) -> Some (t, home)
  | Returned _ | Raised _ -> None

let any_event = Event.make "Task.any"
let wait_for_any ts =
  let awaited = Atomic.make ts in
  let wake waiter t () =
    let all = Atomic.get awaited in
    if has_value t || List.for_all is_done all then ignore (Waiter.grant waiter)
  in
  let register waiter =
    let is_live () = Waiter.is_waiting waiter in
    List.iter (fun t -> Promise.on_done t ~is_live (wake waiter t)) ts
  in
  let pending = List.filter_map home_of ts in
  let forgo _ = List.iter (fun (t, home) -> Promise.forgo t home) pending in
  let wait () = Waiter.wait any_event register in
  Outcome.finally (Atomic.set awaited) [] (Outcome.on_failure wait) forgo

let refuse_own ts =
  let me = Cancellation.task_of (Fiber.get ()) in
  if me != Place.uncancelled && List.exists (fun t -> Promise.any t == me) ts then
    invalid_arg "Muster.Task.any: the task that awaits is an awaited one"

(* All failures count as heard: those that were passed over, and the first, which is raised. *)
let result_of_any ts =
  let looks = List.filter_map peek ts in
  match List.find_map Result.to_option looks with
  | Some v -> v
  | None -> Promise.result (List.hd ts)

let any ts =
  if ts = [] then invalid_arg "Muster.Task.any: empty list";
  Task.check ();
  if not (settled ts) then begin
    refuse_own ts;
    wait_for_any ts
  end;
  result_of_any ts

(* {2 Time} *)

let time = Event.make "Task.sleep"
let sleep seconds =
  if Float.is_nan seconds then invalid_arg "Muster.Task.sleep: seconds = nan is no time";
  if seconds <= 0. then Task.check ()
  else begin
    let at = Timer.after seconds and forget = ref ignore in
    let register waiter = forget := Task.at at (fun () -> ignore (Waiter.grant waiter)) in
    let forget _ = !forget () in
    Outcome.on_failure (fun () -> Waiter.wait time register) forget
  end

(* A fiber of another scheduler has to wait for something, or its loop would not go on. *)
let yield () =
  if Fiber.is_elsewhere () then Muster_blocking.Blocking.call ignore else Task.yield ()

(* {2 Code that is not cancelled}

   It is a part of nothing, as is a fiber that has been told (Fiber). Afterwards the fiber gets its
   part back, on any worker. *)

let protect f =
  match Place.owned_place () with
  | None -> f ()
  | Some w ->
    let before = Fiber.part w in
    let run () =
      let tasks = Fiber.home_of w.pool Alone before.tasks.locals in
      Fiber.become w { before with of_ = Place.uncancelled; tasks };
      f ()
    in
    Outcome.finally (Fiber.put_back before) () run ()

(* Unbroken from [acquire] to the handler. *)
let bracket ~acquire ~release use =
  let begun = ref false in
  let release r () =
    let finally () =
      begun := true;
      release r
    in
    if not !begun then protect (fun () -> Fun.protect ~finally ignore)
  in
  let r = acquire () in
  match use r with
  | v ->
    Outcome.firmly release r ();
    v
  | exception exn ->
    let failure = Outcome.caught exn in
    Outcome.firmly release r ();
    Outcome.raise failure
