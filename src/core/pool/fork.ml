(* The promise is private to the forking frame and to the thief that claims it, so the frame that
   takes it back calls the function and never resolves the promise.

   If the left function fails, the fork drops a task that nobody has begun. It waits for one that a
   thief runs, though in vain; from then on that task's own forks are offered to nobody (Fiber). *)

(* Code that suspended may be on another worker by now, or outside (a job of muster-eio). *)
let take_back p =
  let w = Fiber.place () in
  if Place.owned w then Publish.retract w (Promise.any p);
  Promise.claim p

let event = Event.make "the end of a fork or a loop"

let wait_struck ?(event = event) p =
  let wait () =
    while not (Promise.is_done p || Fiber.has_given_up ()) do
      Caller.wait event p
    done
  in
  Outcome.on_failure wait (fun _ -> Fiber.give_up ())

(* If an asynchronous exception cut a join short, code that follows would run beside its own
   children. A second one ends the waits of the calls around it, too. *)
let wait_done ?(event = event) ?(struck = Fiber.stop_branches) ?(first = ignore) p =
  match
    first ();
    if Place.soon (fun () -> Promise.is_done p) then Tell.joined event else Caller.wait event p
  with
  | () -> ()
  | exception exn ->
    let failure = Outcome.caught exn in
    struck ();
    wait_struck ~event p;
    Outcome.raise failure

let result p =
  match Promise.state p with
  | Raised { failure; _ } -> Fiber.rethrow failure
  | state -> Promise.value state

(* May be called again where an asynchronous exception came before the claim: after it none does. *)
let abandon_by wait p is_vain =
  if not (take_back p) then Fiber.end_in_vain is_vain (fun () -> wait p)

(* No closure is made. *)
let abandon (failure : Outcome.failure) =
  if failure.exn == Sys.Break then fun p is_vain -> abandon_by wait_struck p is_vain
  else fun p is_vain -> abandon_by wait_done p is_vain

let join p is_vain f =
  match take_back p with
  | true -> f ()
  | false ->
    wait_done p;
    result p
  | exception exn ->
    let failure = Fiber.caught exn in
    abandon failure p is_vain;
    Outcome.raise failure

let skip = function
  | Some ({ Outcome.exn = Sys.Break; _ } as struck) -> Outcome.raise struck
  | Some _ | None -> raise Promise.Skipped

(* Ctrl-C that has struck the branch comes first. So it is raised where it has stopped the code left
   of it, or the branch was in vain. *)
let with_branch's failure p =
  match Promise.state p with
  | Raised { failure = { exn = Sys.Break; _ } as struck; _ } -> struck
  | _ -> failure

let in_place f g =
  let a = f () in
  let b = g () in
  (a, b)

let offered ~code w ~wake f g =
  let g = Fiber.traced ~code g and is_vain = Atomic.make false in
  let p = Fiber.branch w ~is_vain g in
  match
    Publish.offer w ~wake (Promise.any p);
    f ()
  with
  | a ->
    let b = join p is_vain g in
    (a, b)
  | exception exn ->
    let failure = Fiber.caught exn in
    Outcome.firmly (abandon failure) p is_vain;
    Fiber.rethrow (with_branch's failure p)

let both_offered ?(code = 0) w ~wake f g =
  if Fiber.is_in_vain w then in_place f g else offered ~code w ~wake f g

let both_slow f g =
  Pool.with_branches (fun w ->
      Run.serve w;
      Yield.look_up w;
      let w = Fiber.place_after w in
      Fiber.check_at w;
      if Publish.wants_tasks w then both_offered w ~wake:true f g else in_place f g)

let[@inline] both f g =
  if Place.is_quiet () then
    let a = f () in
    let b = g () in
    (a, b)
  else both_slow f g
