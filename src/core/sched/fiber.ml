(* A fiber is one sequence of calls, which may wait and go on in another domain (fiber.mli). Each
   has one record (Slot.fiber), to which the worker that runs it points: [own.fiber].

   {v Ready --switch--> on a worker --leave--> suspended --resume--> on a worker v}

   The worker that runs a fiber owns its record; nobody owns it while the fiber is suspended. A
   fiber on top of another on the same stack has a record of its own, and the one beneath it waits.
   A worker between two fibers runs [own.idle], which belongs to no task.

   [context] is the promise of the task that the fiber belongs to, or of the innermost scope or call
   around it; [home] is handed to the tasks that it starts. A branch of [both], or of a loop, has
   those of the code that forked it.

   Cancelling is cooperative. [Promise.stop] marks a promise; then all workers are called up, so
   that a fork which looks at nothing but its worker's first word looks at the context too. At a
   checkpoint the fiber asks whether it is stopped, and its worker whether others are missing that
   could be there (Load). One flag, [attention], tells that neither can be. Code in a signal's
   handler or a finaliser belongs to the task that it interrupts.

   A fiber gets [Cancelled] once. From then on it belongs to no task ([shield]), so that the code
   which cleans up may fork and wait. Where [Cancelled] leaves a call that ran branches, one of them
   got it for all ([rethrow]). Any other exception leaves the fiber as it was. *)

module P = Place

type t = Slot.fiber

(* {2 Where the calling thread is} *)

let here = P.owned_place

(* User code may have been suspended, and go on elsewhere. *)
let[@inline never] find_after w = Option.value (here ()) ~default:w
let[@inline] place_after w = if P.all_shown () then P.current () else find_after w
let[@inline] place () = place_after (P.current ())

(* {2 What it is a part of} *)

let[@inline] context (w : P.t) = w.own.fiber.context
let[@inline] home (w : P.t) = w.own.fiber.home
let mine () = match here () with Some w -> w.own.fiber | None -> P.nobody.own.fiber
let get () = (mine ()).context

let is_stopped w =
  Atomic.get P.attention <> 0
  &&
  let context = context w in
  context != P.uncancelled && Promise.is_stopped context

let note_checked (w : P.t) = w.own.fiber.checked <- true

let home_of (pool : P.pool) lineage locals =
  let { Promise.unheard; owner; _ } = pool.home in
  if lineage == Promise.Alone && locals == [] then pool.home
  else Promise.home ~lineage ~locals ~unheard owner

(* {2 Outside all pools}

   A thread has its identity as its number. A fiber of another scheduler has one made of its
   stack's: several of one thread are several callers. *)

let is_elsewhere () = here () = None && Option.is_some (Dla.foreign ())

let own_number () =
  match Machine.stack_id () with
  | id when id <> 0 && is_elsewhere () -> (1 lsl 60) + id
  | _ -> Machine.thread_id ()

(* Callers without a place bring values, and a number that another fiber had before. They stand
   under the callers' own numbers. Each changes its own entry only. *)
let outside : (int * (int * Promise.local list)) list Atomic.t = Atomic.make []

let caller_outside () =
  let me = own_number () in
  Option.value (List.assoc_opt me (Atomic.get outside)) ~default:(me, [])

let number_outside () =
  if Atomic.get outside == [] then own_number () else fst (caller_outside ())

let locals_outside () = if Atomic.get outside == [] then [] else snd (caller_outside ())
let locals () = match here () with Some w -> (home w).locals | None -> locals_outside ()

let set_caller (number, locals) =
  let me = own_number () in
  P.change outside (fun all ->
      let others = List.remove_assoc me all in
      if number = me && locals == [] then others else (me, (number, locals)) :: others)

let as_caller caller f =
  let before = caller_outside () in
  let run () =
    set_caller caller;
    f ()
  in
  Outcome.finally set_caller before run ()

let set_outside locals = set_caller (number_outside (), locals)
let with_outside locals f = as_caller (number_outside (), locals) f

let inherit_here f =
  let locals = locals () in
  fun () -> if locals == [] || Option.is_some (here ()) then f () else with_outside locals f

let set_context (fiber : t) context =
  fiber.context <- context;
  fiber.hook <- Entries.nobodys

let shield (w : P.t) =
  let fiber = w.own.fiber in
  set_context fiber P.uncancelled;
  fiber.home <- home_of w.pool Alone fiber.home.locals

let be_told_no_more () = Option.iter shield (here ())

let tell w =
  Cancellation.keep_no_longer (context w);
  shield w

let[@inline never] deliver w =
  tell w;
  raise Promise.Cancelled

let take_strike (call : Slot.call) =
  match Atomic.get call.struck with None -> None | Some _ -> Atomic.exchange call.struck None

let[@inline never] look_at (w : P.t) =
  let reasons = Atomic.get P.attention in
  if reasons land P.shortage <> 0 then Load.look_if_short w;
  if reasons land P.stops <> 0 then begin
    note_checked w;
    ignore (Timer.look ());
    Option.iter Outcome.raise (Option.bind w.own.fiber.call take_strike);
    if is_stopped w then deliver w
  end

let[@inline] check_at w = if Atomic.get P.attention <> 0 then look_at w

let deliver_here () =
  Option.iter deliver (here ());
  raise Promise.Cancelled

let[@inline never] look_here () =
  let w = P.current () in
  if P.owned w then look_at w else Option.iter look_at (here ())

let[@inline] check () = if Atomic.get P.attention <> 0 then look_here ()

(* {2 Waits}

   A fiber waits once at a time, so it has one entry among those for its context's stop. It arms the
   entry for each wait, and lets it rest afterwards. The context forgets entries at rest where it
   would have too many: the next wait adds another one. Where a signal's handler interrupts a wait
   and waits itself, its entry takes the place of the other. *)

let own_hook (fiber : t) =
  if Entries.is_at_rest fiber.hook then fiber.hook else Entries.entry Entries.forgotten

(* The stop marks the context and then fires the entry; the fiber arms the entry and then looks at
   the mark. So one sees both. *)
let heed_stop (fiber : t) hook wake =
  if Entries.arm hook wake then (if Promise.is_stopped fiber.context then wake ())
  else begin
    Promise.on_stop fiber.context hook;
    fiber.hook <- hook
  end

let rethrow (failure : Outcome.failure) =
  if failure.exn == Promise.Cancelled then
    Option.iter (fun w -> if is_stopped w then tell w) (here ());
  Outcome.raise failure

let reraise failures = Option.iter rethrow (Leftmost.get failures)

(* {2 Switching} *)

let[@inline] above (w : P.t) ~handled context home : t =
  let beneath = w.own.fiber in
  let depth = beneath.depth + 1 in
  let branch = Slot.Trunk and number = 0 and traced = 0 and checked = false and call = None in
  let gave_up = false and hook = Entries.nobodys in
  { context; home; number; checked; handled; call; beneath; depth; traced; branch; gave_up; hook }

let[@inline] make w context home = above w ~handled:true context home
let plain (w : P.t) ~handled = above w ~handled P.uncancelled w.pool.home

(* The next fork must not run in place without a look, if the fiber was stopped meanwhile or the
   clock may stop it. *)
let heed w =
  if is_stopped w then Publish.call_up w
  else if Publish.watches_clock w then Publish.set_quiet w 0

let[@inline] put (w : P.t) fiber = w.own.fiber <- fiber

let[@inline] switch w (fiber : t) =
  put w fiber;
  if fiber.context != P.uncancelled then heed w

(* A suspended fiber does not keep alive the fibers that were beneath it. *)
let leave (fiber : t) =
  let w = place () in
  fiber.beneath <- w.own.idle;
  put w w.own.idle

let resume (fiber : t) =
  let w = place () in
  let beneath = w.own.fiber in
  fiber.beneath <- beneath;
  fiber.depth <- beneath.depth;
  switch w fiber

(* {2 Entering and leaving scopes} *)

type part = { of_ : Promise.any; tasks : Promise.home; met_checkpoint : bool }

let part_of (fiber : t) =
  { of_ = fiber.context; tasks = fiber.home; met_checkpoint = fiber.checked }

let part (w : P.t) = part_of w.own.fiber

let become w { of_; tasks; met_checkpoint } =
  let fiber = w.Slot.own.fiber in
  fiber.checked <- met_checkpoint;
  fiber.home <- tasks;
  if fiber.context != of_ then begin
    set_context fiber of_;
    heed w
  end

let restore before () = Option.iter (fun w -> become w before) (here ())
let put_back before () = Outcome.firmly restore before ()
let to_tell_again () = restore (part_of (mine ()))

(* The exception of a loop's body comes before a cancellation that was told between its calls, here
   or to another worker: that is told again, at the next checkpoint. *)
let raising failure run =
  let tell_again = to_tell_again () in
  let raise_it (f : Outcome.failure) =
    if f.exn != Promise.Cancelled then tell_again ();
    rethrow f
  in
  let v =
    try run ()
    with Promise.Cancelled as exn ->
      let told = Outcome.caught exn in
      Option.iter raise_it (failure ());
      Outcome.raise told
  in
  Option.iter raise_it (failure ());
  v

(* The home may be that of another pool's tasks: those started here belong to this pool. *)
let home_in (pool : P.pool) (home : Promise.home) =
  let { Promise.owner; lineage; locals; _ } = home in
  let is_plain = lineage == Alone && locals == [] in
  if owner == pool.home.owner && not is_plain then home else home_of pool lineage locals

let within (w : P.t) ~number ~part_of =
  let fiber =
    match part_of with
    | None -> make w P.uncancelled (home_of w.pool Alone (locals_outside ()))
    | Some outer -> make w (context outer) (home_in w.pool (home outer))
  in
  { fiber with number }

(* {2 Stopping} *)

let call_all_up () =
  List.iter (fun pool -> Array.iter Publish.call_up (P.workers pool)) (Atomic.get P.open_pools)

(* The flag first: a fiber that finds it not set has to see the mark at its next look. *)
let stop_each ps =
  P.attend P.stops true;
  Outcome.finally call_all_up () (List.iter Promise.stop) ps

let stop p = stop_each [ p ]

let have_all_look () =
  P.attend P.stops true;
  call_all_up ()

let strike (call : Slot.call) failure =
  Atomic.compare_and_set call.struck None (Some failure)
  && begin
    (Atomic.get call.waits) ();
    have_all_look ();
    true
  end

(* {2 Branches of a caller's code}

   Code that is a part of nothing is a part of its own call while it runs branches. So Ctrl-C, in
   whichever of them it strikes, stops all that wait or have yet to begin; and then it is raised.
   Branches directly within a scope are a part of that: it is stopped. *)

let stop_branches () =
  match here () with
  | Some w when context w != P.uncancelled ->
    stop (context w);
    shield w
  | Some _ | None -> ()

(* Until its next fork or scope the fiber waits for no code any more that Ctrl-C was to stop. *)
let wait_again (w : P.t) = w.own.fiber.gave_up <- false
let give_up () = Option.iter (fun (w : P.t) -> w.own.fiber.gave_up <- true) (here ())
let has_given_up () = Option.fold (here ()) ~none:false ~some:(fun w -> w.Slot.own.fiber.gave_up)

let caught exn =
  let failure = Outcome.caught exn in
  if failure.exn == Sys.Break then stop_branches ();
  failure

let in_call w f =
  if context w != P.uncancelled then f w
  else begin
    let own = Promise.started Promise.nowhere and before = part w in
    let go () =
      become w { before with of_ = Promise.any own };
      f w
    in
    try Outcome.finally (put_back before) () go ()
    with Promise.Cancelled when Promise.(is_marked (state own)) -> raise Sys.Break
  end

let carrying (w : P.t) home branch f =
  let { context; _ } : t = w.own.fiber in
  if context == P.uncancelled && home == w.pool.home && branch == Slot.Trunk then f
  else fun x ->
    let w = place () in
    w.own.fiber.branch <- branch;
    become w { of_ = context; tasks = home_in w.pool home; met_checkpoint = false };
    check_at w;
    try f x with exn -> Outcome.raise (caught exn)

let carry (w : P.t) f = carrying w w.own.fiber.home w.own.fiber.branch f

let marked_branch w branch f =
  let home = Waiting.started (home w) in
  Waiting.branch home (carrying w home branch f)

let[@inline] branch (w : P.t) ~is_vain f =
  wait_again w;
  let branch = Slot.Branch { is_vain; from = w.own.fiber.branch } in
  if Waiting.shows_forks then marked_branch w branch f
  else Promise.(make nowhere (carrying w w.own.fiber.home branch f))

(* {2 Branches in vain}

   A fork waits for the branch that a thief runs, though code left of it has failed. That branch is
   in vain, and so are its own forks: they are offered to nobody. Each piece of a recursion without
   end has to overflow a stack of its own, and thieves would begin new ones as fast as these end.

   The fork writes [is_vain], then counts itself. [failed_forks] spares all others the walk. A fork
   that looks too early is offered, which does no harm but for the time. *)

let failed_forks = Compat.padded (Atomic.make 0)

let end_in_vain is_vain wait =
  let no_longer () = ignore (Atomic.fetch_and_add failed_forks (-1)) in
  Atomic.set is_vain true;
  ignore (Atomic.fetch_and_add failed_forks 1);
  Outcome.finally no_longer () wait ()

let rec is_within_vain = function
  | Slot.Trunk -> false
  | Branch { is_vain; from } -> Atomic.get is_vain || is_within_vain from

let[@inline] is_in_vain (w : P.t) = Atomic.get failed_forks > 0 && is_within_vain w.own.fiber.branch

(* {2 Numbers}

   A fiber's number is drawn when somebody first asks: few tasks lock. Those of fibers are below
   0; that of a caller is above 0, also where it entered a pool. None is drawn twice. *)

let drawn = Compat.padded (Atomic.make 0)

let[@inline never] draw (fiber : t) =
  fiber.number <- -1 - Atomic.fetch_and_add drawn 1;
  fiber.number

let take_number (w : P.t) number = w.own.fiber.number <- number
let[@inline] number_of (fiber : t) = if fiber.number <> 0 then fiber.number else draw fiber

let number_elsewhere () =
  match if P.all_shown () then None else here () with
  | Some w -> number_of w.own.fiber
  | None -> number_outside ()

(* Mostly a thread is where storage shows it, or nowhere. *)
let number () =
  let w = P.current () in
  if P.owned w then number_of w.own.fiber else number_elsewhere ()

let moving f =
  let caller = (number (), locals ()) in
  fun () -> as_caller caller f

(* A fiber of another scheduler may leave its call before the task ends, which has its number. Then
   neither counts as a lock's holder: it waits, and the task ends. Ended ones go the next time. *)
let left : (int * Promise.any) list Atomic.t = Atomic.make []
let is_left (_, task) = not (Promise.is_done task)

let leave_behind task number =
  P.change left (fun all -> (number, Promise.any task) :: List.filter is_left all);
  stop task

let is_me it =
  it = number () && not (List.exists (fun l -> fst l = it && is_left l) (Atomic.get left))

(* A fiber that was told is a part of nothing afterwards, so its context is noted before. *)
let watch () =
  let me = get () in
  let is_mine exn = exn == Promise.Cancelled && Promise.is_stopped me in
  fun exn -> is_mine exn || (Dla.is_cancellation exn && is_elsewhere ())

(* {2 Traced tasks} *)

let run_traced task f x =
  let back = Tell.start (place ()) task in
  Outcome.finally (fun () -> Tell.finish (place ()) task ~back) () f x

let[@inline never] traced_now code f =
  let w = Option.value (here ()) ~default:P.nobody in
  match Tell.fork w ~code with 0 -> f | task -> fun x -> run_traced task f x

let[@inline] traced ~code f =
  if Trace.is_on () then traced_now (if code = 0 then Machine.code_of f else code) f else f
