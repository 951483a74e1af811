(* The values stand in the home that a fiber's tasks get (Promise.home). All that goes from a fiber
   to its tasks, branches, loops and scopes carries the home, and so the values. They are changed by
   giving the fiber another home.

   A thread outside all pools comes into the current pool for [within]. Where there is no place for
   it, its code runs in place, and the values stand under the thread's number (Fiber.outside). So do
   those of a call of [Task.blocking], and of a fiber of another scheduler, by its number. *)

type 'a t = { key : 'a Type.Id.t; default : 'a }

let create default = { key = Type.Id.make (); default }

let rec find : type a. a t -> Promise.local list -> a =
 fun local -> function
  | [] -> local.default
  | Local (key, v) :: rest -> (
    match Type.Id.provably_equal key local.key with Some Equal -> v | None -> find local rest)

let is_other local (Promise.Local (key, _)) = Type.Id.uid key <> Type.Id.uid local.key
let bind local v locals = Promise.Local (local.key, v) :: List.filter (is_other local) locals

(* {2 Threads without a place} *)

let set_outside locals =
  let me = Fiber.number () in
  Place.change Fiber.outside (fun all ->
      let others = List.remove_assoc me all in
      if locals == [] then others else (me, locals) :: others)

let with_outside locals f =
  let before = Fiber.locals () in
  let put_back () = set_outside before in
  let run () =
    set_outside locals;
    f ()
  in
  Outcome.finally put_back () run

(* {2 Fibers} *)

let get local = find local (Fiber.locals ())

let carry f =
  match Fiber.locals () with
  | [] -> f
  | locals -> fun () -> if Option.is_none (Fiber.here ()) then with_outside locals f else f ()

let set_home w tasks = Fiber.become w { (Fiber.part w) with tasks }

(* A fiber that was told of a cancellation meanwhile has got another home. *)
let restore before mine () =
  let go_back w =
    let home = Fiber.home w in
    set_home w
      (if home == mine then before
       else Fiber.home_of w.pool home.Promise.lineage before.Promise.locals)
  in
  Option.iter go_back (Fiber.here ())

let within_here local v f (w : Place.t) =
  let before = Fiber.home w in
  let mine = Fiber.home_of w.pool before.lineage (bind local v before.locals) in
  let put_back () = Outcome.firmly (restore before) mine () in
  let run () =
    set_home w mine;
    f ()
  in
  Outcome.finally put_back () run

let within local v f =
  let in_place () = with_outside (bind local v (Fiber.locals ())) f in
  if Fiber.is_elsewhere () then in_place ()
  else Pool.with_current (within_here local v f) ~in_place
