(* The values stand in the home that a fiber's tasks get (Promise.home). All that goes from a fiber
   to its tasks, branches, loops and scopes carries the home, and so the values. They are changed by
   giving the fiber another home.

   A thread outside all pools comes into the current pool for [within]. The values of a call of
   [Task.blocking], and of a fiber of another scheduler, stand under its number (Fiber.outside). *)

type 'a t = { key : 'a Type.Id.t; default : 'a }

let create default = { key = Type.Id.make (); default }

let rec find : type a. a t -> Promise.local list -> a =
 fun local -> function
  | [] -> local.default
  | Local (key, v) :: rest -> (
    match Type.Id.provably_equal key local.key with Some Equal -> v | None -> find local rest)

let is_other local (Promise.Local (key, _)) = Type.Id.uid key <> Type.Id.uid local.key
let bind local v locals = Promise.Local (local.key, v) :: List.filter (is_other local) locals

let get local = find local (Fiber.locals ())

let set_home w tasks = Fiber.become w { (Fiber.part w) with tasks }

(* A fiber that was told of a cancellation meanwhile has got another home. A job of muster-eio may
   have moved to a loop outside. *)
let restore before mine () =
  let go_back w =
    let home = Fiber.home w in
    set_home w
      (if home == mine then before
       else Fiber.home_of w.pool home.Promise.lineage before.Promise.locals)
  in
  match Place.owned_place () with Some w -> go_back w | None -> Fiber.set_outside before.locals

let within_here local v f (w : Place.t) =
  let before = Fiber.home w in
  let mine = Fiber.home_of w.pool before.lineage (bind local v before.locals) in
  let put_back () = Outcome.firmly (restore before) mine () in
  let run () =
    set_home w mine;
    f ()
  in
  Outcome.finally put_back () run ()

let within local v f =
  if Fiber.is_elsewhere () then Fiber.with_outside (bind local v (Fiber.locals ())) f
  else Pool.with_current (within_here local v f)
