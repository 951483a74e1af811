(* No thread waits for the actions. A worker looks every 2 ms or so, wherever it asks whether its
   code is cancelled (Fiber), and before it sleeps; and it sleeps no longer than until the next
   time. So an action is done as soon as some worker reaches a fork, an await or the end of a chunk,
   or wakes. While tasks are suspended and something is set, a pool's last idle resident
   stays (Resident). *)

type key = int * int
(** ns; a number that makes it unique *)

module Times = Map.Make (struct
  type t = key

  let compare (a, i) (b, j) = if a <> b then Int.compare a b else Int.compare i j
end)

(* Changed as a whole. [next] is the first of them, [max_int] if there is none. *)
type timers = { next : int; all : (unit -> unit) Times.t }

let timers = Compat.padded (Atomic.make { next = max_int; all = Times.empty })
let numbers = Atomic.make 0

let with_next all =
  { next = Option.fold (Times.min_binding_opt all) ~none:max_int ~some:(fun ((t, _), _) -> t); all }

let rec change f =
  let old = Atomic.get timers in
  if not (Atomic.compare_and_set timers old (with_next (f old.all))) then change f

(* More than that may not fit into an [int], and nobody waits as long. *)
let longest = 1e9
let after seconds = Machine.now () + int_of_float (Float.min seconds longest *. 1e9)

let add at what =
  let key = (at, Atomic.fetch_and_add numbers 1) in
  change (Times.add key what);
  key

(* An asynchronous exception leaves none behind: it would stay until it is due. *)
let remove_it key () = change (Times.remove key)
let remove key = Outcome.firmly remove_it key ()

let[@inline] are_set () = (Atomic.get timers).next <> max_int
let call what () = what ()

(* The thread that takes an action out does it, unbroken in between. *)
let rec do_due ~found =
  let old = Atomic.get timers in
  if old.next > Machine.now () then found
  else begin
    let key, what = Times.min_binding old.all in
    let later = with_next (Times.remove key old.all) in
    let is_mine = Atomic.compare_and_set timers old later in
    if is_mine then Outcome.firmly call what ();
    do_due ~found:(found || is_mine)
  end

let[@inline] look () = are_set () && do_due ~found:false

let at_most ms =
  match (Atomic.get timers).next with
  | next when next = max_int -> ms
  | next -> Int.max 0 (Int.min ms (((next - Machine.now ()) / 1_000_000) + 1))
