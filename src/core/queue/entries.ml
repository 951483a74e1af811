type waker = unit -> unit
type event = End | Stop
type entry = { event : event; fire : waker; is_live : unit -> bool }

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
let is_for event entry = entry.event = event

let of_list list =
  let length = List.length list in
  { list; length; limit = Int.max shortest (2 * length) }

let only event t = of_list (List.filter (is_for event) t.list)

let add event ~is_live fire t =
  let t = if t.length < t.limit then t else of_list (List.filter (fun e -> e.is_live ()) t.list) in
  { t with list = { event; fire; is_live } :: t.list; length = t.length + 1 }

let are_waiting t = List.exists (fun entry -> is_for End entry && entry.is_live ()) t.list
let are_expecting t = List.exists (fun entry -> entry.is_live == always) t.list

(* May be called again, where an exception cuts it short: then it fires that entry again, and none
   before it. (A wake-up may come twice. [Scope.end_one] may not; but once it has counted, only the
   party that brought the count to 0 can still be cut short. Below 0 the count means nothing.) *)
let rec fire_all event left =
  match !left with
  | [] -> ()
  | entry :: later ->
    if is_for event entry then entry.fire ();
    left := later;
    fire_all event left

let fire event t =
  match ref (List.rev t.list) with
  | oldest_first -> Outcome.firmly fire_all event oldest_first
  | exception exn ->
    let failure = Outcome.caught exn in
    fire_all event (ref (List.rev t.list));
    Outcome.raise failure
