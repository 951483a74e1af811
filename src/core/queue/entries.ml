type waker = unit -> unit
type entry = { fire : waker Atomic.t; is_live : unit -> bool }

(* Entries that have lost their purpose are swept out at the limit, when they might be more than
   half. *)
type t = {
  list : entry list;  (** newest first *)
  length : int;
  limit : int;
}

let shortest = 8
let none = { list = []; length = 0; limit = shortest }
let always () = true
let forgotten () = ()
let resting () = ()
let entry ?(is_live = always) fire = { fire = Atomic.make fire; is_live }
let forget entry = if Atomic.get entry.fire != forgotten then Atomic.set entry.fire forgotten
let nobodys = entry forgotten
let is_at_rest entry = Atomic.get entry.fire == resting

let arm entry waker =
  Atomic.compare_and_set entry.fire resting waker
  ||
  (Atomic.set entry.fire waker;
   false)

let rest entry waker = ignore (Atomic.compare_and_set entry.fire waker resting)

let is_live entry =
  let fire = Atomic.get entry.fire in
  fire != forgotten && fire != resting && entry.is_live ()

(* One at rest is forgotten: its owner is to see that it stands nowhere any more. *)
let rec stays entry =
  let fire = Atomic.get entry.fire in
  if fire != resting then fire != forgotten && entry.is_live ()
  else (not (Atomic.compare_and_set entry.fire resting forgotten)) && stays entry

let swept t =
  let list = List.filter stays t.list in
  let length = List.length list in
  { list; length; limit = Int.max shortest (2 * length) }

let add entry t =
  let t = if t.length < t.limit then t else swept t in
  { t with list = entry :: t.list; length = t.length + 1 }

let union a b =
  let shorter, longer = if a.length < b.length then (a, b) else (b, a) in
  List.fold_right add shorter.list longer

let live t = if t.length <= shortest then swept t else t
let is_none t = t.list = []
let are_waiting t = List.exists is_live t.list
let are_expecting t = List.exists (fun entry -> entry.is_live == always) t.list

(* May be called again, where an exception cuts it short: then it fires that entry again, and none
   before it. (A wake-up may come twice. [Scope.end_one] may not; but once it has counted, only the
   party that brought the count to 0 can still be cut short. Below 0 the count means nothing.) *)
let rec fire_all left =
  match !left with
  | [] -> ()
  | entry :: later ->
    (Atomic.get entry.fire) ();
    left := later;
    fire_all left

let fire_list left () = fire_all left

let fire t =
  match ref (List.rev t.list) with
  | oldest_first -> Outcome.firmly fire_list oldest_first ()
  | exception exn ->
    let failure = Outcome.caught exn in
    fire_all (ref (List.rev t.list));
    Outcome.raise failure
