(* Actions that are due at a certain time.

   No thread keeps watch. Workers look when they look up (every 2 ms or so), wherever they look
   whether they are cancelled (Fiber), and sleep no longer than until the next time. So something
   due is done as soon as some worker has reached a fork, an await, the end of a chunk or its bed.
   While tasks are suspended and something is set, a pool's last resident does not leave (Resident).
   *)

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

let add at what =
  let key = (at, Atomic.fetch_and_add numbers 1) in
  change (Times.add key what);
  key

let remove_it key () = change (Times.remove key)

(* An asynchronous exception leaves none behind: it would stay until it is due. *)
let remove key = Outcome.firmly remove_it key ()
let nothing = ref []

(* The thread that takes one out does it: nothing is allocated afterwards, where an asynchronous
   exception might strike. *)
let rec take_due now =
  let old = Atomic.get timers in
  if old.next > now then nothing
  else
    let due, _, later = Times.split (now, max_int) old.all in
    let left = ref (List.map snd (Times.bindings due)) and later = with_next later in
    if Atomic.compare_and_set timers old later then left else take_due now

(* May be called again, if an exception cuts it short: it begins with what that one was doing. *)
let rec do_all left () =
  match !left with
  | [] -> ()
  | what :: later ->
    what ();
    left := later;
    do_all left ()

let do_due () =
  let left = take_due (Machine.now ()) in
  left != nothing
  &&
  (Outcome.firmly do_all left ();
   true)

let[@inline] are_set () = (Atomic.get timers).next <> max_int

(* Whether something was due. *)
let[@inline] look () = are_set () && do_due ()

(* [ms], or fewer if something is due before. *)
let at_most ms =
  match (Atomic.get timers).next with
  | next when next = max_int -> ms
  | next -> Int.max 0 (Int.min ms (((next - Machine.now ()) / 1_000_000) + 1))
