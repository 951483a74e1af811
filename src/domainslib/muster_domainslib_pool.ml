(* A pool has as many workers as Muster finds right; [asked] is what its user wanted. Programs
   divide their work by that number, and the shape of a reduction depends on it.

   Life: [torn_down] is set once, when all tasks have ended; tasks that run while the pool is being
   torn down may still use it. Other domains may use the pool at that very moment: they are early
   enough, or refused. Code in [run] that tears the pool down cannot wait for itself: it sets
   [last_closes], and the last of the [runs] does so when it ends. *)

type t = {
  pool : Pool.t;
  home : Promise.home;  (** of its tasks *)
  asked : int;  (** workers, the caller's included *)
  torn_down : bool Atomic.t;
  runs : int Atomic.t;
  last_closes : bool Atomic.t;
}

(* The newest first: it hides older ones of its name until it is torn down. *)
let named : (string * t) list Atomic.t = Atomic.make []

(* Domainslib spawns its domains here, and each draws its generator of [Random] from the caller's.
   So a program with a seed draws the same numbers afterwards with both. *)
let most_domains = 1000

let draw_generators num_domains =
  for _ = 1 to Int.min num_domains most_domains do
    ignore (Random.split ())
  done

let setup ?name ~num_domains () =
  if num_domains < 0 then invalid_arg "Task.setup_pool: num_domains must be at least 0";
  draw_generators num_domains;
  let asked = if num_domains = max_int then max_int else num_domains + 1 in
  let pool = Pool.create_promising ?name ~domains:asked () in
  let { Promise.owner; unheard; _ } = pool.home in
  let home = Promise.home ~unheard owner in
  let torn_down = Atomic.make false and last_closes = Atomic.make false in
  let t = { pool; home; asked; torn_down; runs = Atomic.make 0; last_closes } in
  Option.iter (fun name -> Place.change named (fun others -> (name, t) :: others)) name;
  t

let lookup name =
  let is_it (its_name, t) = its_name = name && not (Atomic.get t.pool.closing) in
  Option.map snd (List.find_opt is_it (Atomic.get named))

let refuse () = invalid_arg "pool already torn down"
let[@inline] check t = if Atomic.get t.torn_down then refuse ()

let num_domains t =
  check t;
  t.asked

(* {2 Its end} *)

let forget t = Place.change named (List.filter (fun (_, other) -> other != t))

let tear_down t =
  Pool.close_of "Task.teardown_pool" t.pool;
  forget t;
  Atomic.set t.torn_down true

(* A [run] that begins later is refused. One that has ended meanwhile leaves nobody to do it: then
   a task of the pool is refused, as where no [run] was going on. *)
let leave_it_to_last t =
  Atomic.set t.last_closes true;
  if Atomic.get t.runs > 0 then forget t
  else begin
    Atomic.set t.last_closes false;
    tear_down t
  end

let is_inside t = Caller.has_place t.pool

(* Hooks of the program's exit run in the task that exits. *)
let teardown t =
  check t;
  if is_inside t && Atomic.get t.runs > 0 then leave_it_to_last t else tear_down t

(* {2 Run} *)

(* In a fiber of Eio, code of a [run] may do what that library offers: so it was with Domainslib. *)
let enter t f = Caller.with_worker Here (Instead refuse) t.pool (fun _ -> f ())

let close_if_last t () =
  if Atomic.get t.last_closes && Atomic.get t.runs = 0 && not (Atomic.get t.torn_down) then
    tear_down t

let leave t =
  ignore (Atomic.fetch_and_add t.runs (-1));
  Outcome.firmly close_if_last t ()

(* Code of a [run] that comes back through another pool is in that [run] still. *)
let run t f =
  check t;
  if Option.is_some (Caller.place_in t.pool) then f ()
  else if is_inside t then enter t f
  else begin
    let go () = enter t f in
    if Atomic.get t.last_closes then refuse ();
    (* Unbroken from here to the handler. *)
    ignore (Atomic.fetch_and_add t.runs 1);
    Outcome.finally leave t go ()
  end

(* {2 Tasks}

   They have a home of their own, which tells them from Muster's: nobody can cancel one of these
   alone, for its promise is no [Muster.Task.t]. So one that is awaited before it has begun runs in
   place as a part of the task that awaits it, in half the time of a fiber. Scopes have homes, too,
   and their tasks go Muster's way. *)

let home_for t (w : Place.t) =
  let home = Fiber.home w in
  if home == w.pool.home then t.home else home

(* Under muster race a task has the place at which it was forked. *)
let marked home = if Waiting.shows_forks then Waiting.started home else home

(* Code that waits for a task by the stdlib's means keeps its worker. Where the process has fewer
   CPUs than the user asked for domains, more of them come when that is so (Watchdog). *)
let[@inline] count_on_others t = Budget.promise t.pool (t.asked - 1)

let send t promise =
  try Task.send t.pool promise with Invalid_argument _ when Atomic.get t.pool.closing -> refuse ()

let async t f =
  check t;
  count_on_others t;
  let w = Place.current () in
  if w.pool == t.pool && Place.owned w then begin
    Fiber.check_at w;
    Task.offer w (Promise.make (marked (home_for t w)) (Fiber.traced ~code:0 f))
  end
  else send t (Promise.make (marked t.home) (Fiber.traced ~code:0 f))

let may_run_here t (w : Place.t) home =
  home == t.home && Fiber.home w == home && Mailbox.is_idle w.mailbox && Place.owned w

let await t promise =
  check t;
  match Promise.state promise with
  | Ready (_, home, _) -> (
    let w = Place.current () in
    if not (may_run_here t w home) then Task.await promise
    else begin
      let state = Promise.run promise in
      Deque.retire (Fiber.place_after w).deque (Promise.any promise);
      match state with
      | Ready _ | Running _ -> Task.await promise
      | (Returned _ | Raised _) as state -> Promise.value state
    end)
  | Running _ | Returned _ | Raised _ -> Task.await promise
