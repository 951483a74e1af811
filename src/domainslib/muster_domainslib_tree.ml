(* A range, halved until its parts have at most [chunk] indices, which is how Domainslib cuts
   it: so a reduction combines in the same order here and there, to the last bit of a float,
   and the order depends neither on the machine nor on who runs what.

   Where a subtree is computed is decided on the way, in one of two manners:
   - [Parallel]: as Muster does, only where it pays.
   - [Concurrent]: each part is a task, begun even if the others never end, or have failed. Domainslib's loops
     over no more parts than the pool has workers are like that, and programs start as many
     bodies that wait for each other as there are workers.

   In the parallel manner one strand computes many parts in turn, and a body that waits may wait for
   one of those that follow. So what is left of a strand's turn when it suspends
   ([begin_the_rest]) becomes tasks, which begin without it. It goes on with the part that it is at,
   and awaits theirs where it comes to them. *)

open Muster_core
open Muster_loop
module Pools = Muster_domainslib_pool

type manner = Parallel | Concurrent

type 'a t = {
  leaf : int -> int -> 'a;  (** the value of a chunk *)
  combine : 'a -> 'a -> 'a;
  chunk : int;
  pool : Pools.t;
  code : int;
  failures : Outcome.failure Leftmost.t;
}

(* What a strand computes in turn. All fields are the strand's alone. *)
type 'a strand = {
  compute_part : int * int -> 'a;  (** as a part of what the strand was a part of when it began *)
  mutable later : (int * int) list;  (** the parts that follow its block, the next one first *)
  mutable first : int;
  mutable last : int;  (** its block, computed without looking around; -1 and 0: none *)
  mutable at : int;  (** the first index of its chunk there *)
  mutable begun : (int * 'a Task.t) list;  (** what followed when it waited, by first indices *)
  mutable unsent : 'a Task.t list;  (** those of them that nobody can find yet *)
  mutable told : bool;  (** of a failure of these *)
}

(* Everything right of a failure is to stop. *)
let noted t hi f = Outcome.on_failure f (Leftmost.note t.failures hi)

(* One a turn, as in Reduce. The index after [finish] may not be there. *)
let fold ~combine ~start ~finish body =
  let v = ref (body start) in
  if start < finish then
    for i = start + 1 to finish do
      v := combine !v (body i)
    done;
  !v

let[@inline] is_leaf t lo hi = Loop.span lo hi < t.chunk
let[@inline] middle lo hi = lo + (Loop.span lo hi / 2)

(* No asynchronous exception (Ctrl-C) ends the wait before the task: it is raised afterwards. *)
let settled p =
  match Task.await p with
  | v -> Ok v
  | exception exn ->
    let failure = Outcome.caught exn in
    if not (Promise.is_done p) then Fork.wait_done p;
    Error failure

(* A cancellation that the waits are told of is yet to be heard. *)
let settle_after failure tasks =
  let tell_again = Context.to_tell_again () in
  List.iter (fun p -> ignore (settled p)) tasks;
  tell_again ();
  Context.rethrow failure

let is_of (pool : Pools.t) w = w.Place.pool == pool.pool && Place.owned w

let send (pool : Pools.t) p =
  let w = Context.place () in
  ignore (if is_of pool w then Task.offer w p else Pools.send pool p)

(* A part of what the caller is a part of, as a branch of [both] is. *)
let part (pool : Pools.t) f =
  let w = Context.place () in
  if is_of pool w then Context.carry w f else f

let start (pool : Pools.t) g =
  let p = Promise.make pool.home (part pool g) in
  send pool p;
  p

(* {2 Concurrent} *)

let concurrently pool f g =
  Pools.count_on_others pool;
  let p = start pool g in
  match f () with
  | a -> ( match settled p with Ok b -> (a, b) | Error failure -> Context.rethrow failure)
  | exception exn -> settle_after (Outcome.caught exn) [ p ]

let rec concurrent t lo hi =
  if is_leaf t lo hi then noted t hi (fun () -> t.leaf lo hi)
  else begin
    let mid = middle lo hi in
    let left () = concurrent t lo mid and right () = concurrent t (mid + 1) hi in
    let l, r = concurrently t.pool left right in
    noted t hi (fun () -> t.combine l r)
  end

(* {2 Parallel} *)

(* The part from [lo] on, which has begun. *)
let of_begun s lo =
  match settled (List.assoc lo s.begun) with
  | Ok v -> v
  | Error failure ->
    s.told <- true;
    Context.rethrow failure

let[@inline] is_in_block s = s.first <= s.last

let leave_block s =
  s.first <- 0;
  s.last <- -1

(* The parts of the block that follow the chunk [at], before [later]. *)
let rec following t lo hi ~at later =
  if is_leaf t lo hi then later
  else
    let mid = middle lo hi in
    if at <= mid then following t lo mid ~at ((mid + 1, hi) :: later)
    else following t (mid + 1) hi ~at later

let rec send_all t s =
  match s.unsent with
  | [] -> ()
  | p :: rest ->
    send t.pool p;
    s.unsent <- rest;
    send_all t s

(* The next one is sent last, so that this worker begins with it, and thieves with the largest. May be called again:
   nothing is allocated, where an exception could strike, between the first change and the last, and what is sent twice
   runs once. *)
let begin_the_rest t s =
  let rest = if is_in_block s then following t s.first s.last ~at:s.at s.later else s.later in
  let task part = Promise.make t.pool.home (fun () -> s.compute_part part) in
  let tasks = List.map (fun part -> (fst part, task part)) rest in
  let begun = tasks @ s.begun and unsent = List.rev_append (List.map snd tasks) s.unsent in
  leave_block s;
  s.later <- [];
  s.begun <- begun;
  s.unsent <- unsent;
  send_all t s

(* What is remembered as short is tried on its first chunk: the others begin without this strand if that is long. *)
let try_first t s since hi =
  let ticks = Machine.ticks () - since and left = (Loop.span hi s.last / t.chunk) + 1 in
  if Loop.is_long ticks left then begin
    ignore (Site.learn t.code ~ticks ~iterations:(Loop.span s.first hi + 1));
    Outcome.firmly begin_the_rest t s
  end

let rec plain t s since lo hi =
  if is_leaf t lo hi then begin
    s.at <- lo;
    let v = t.leaf lo hi in
    if lo = s.first && hi < s.last then try_first t s since hi;
    v
  end
  else
    let mid = middle lo hi in
    let left = plain t s since lo mid in
    t.combine left (if is_in_block s then plain t s since (mid + 1) hi else of_begun s (mid + 1))

(* Whoever computes a part that has begun has noted its failure. *)
let measured t s lo hi =
  s.first <- lo;
  s.last <- hi;
  let since = Machine.ticks () in
  match plain t s since lo hi with
  | v ->
    leave_block s;
    let ticks = Machine.ticks () - since in
    ignore (Site.learn t.code ~ticks ~iterations:(Loop.span lo hi + 1));
    v
  | exception exn ->
    let failure = Outcome.caught exn in
    leave_block s;
    if not s.told then Leftmost.note t.failures s.at failure;
    Outcome.raise failure

(* [whole]: as in Loop. *)
let rec node t s lo hi ~whole =
  if Leftmost.stops t.failures lo then raise Promise.Skipped;
  let cost = Site.cost t.code in
  let rest = Site.estimate cost (Loop.span lo hi + 1) in
  if is_leaf t lo hi || rest <= Loop.quantum then measured t s lo hi
  else begin
    Loop.look_up_between_chunks ();
    let mid = middle lo hi and w = Context.place () in
    let coarse = Loop.is_coarse cost t.chunk in
    let whole = whole && coarse in
    let l, r =
      if Loop.may_offer w ~whole then
        let wake = Loop.is_worth_waking rest cost ~whole in
        let left () = node t s lo mid ~whole:coarse in
        let right () = strand t (mid + 1) hi ~whole:coarse in
        Fork.both_offered w ~wake left right
      else in_turn t s lo mid hi
    in
    noted t hi (fun () -> t.combine l r)
  end

and in_turn t s lo mid hi =
  s.later <- (mid + 1, hi) :: s.later;
  let l = node t s lo mid ~whole:false in
  match s.later with
  | [] -> (l, of_begun s (mid + 1))
  | _ :: later ->
    s.later <- later;
    (l, node t s (mid + 1) hi ~whole:false)

(* All that it has begun has ended, too, when it ends. *)
and strand : 'a. 'a t -> int -> int -> whole:bool -> 'a =
 fun t lo hi ~whole ->
  let compute_part = part t.pool (fun (lo, hi) -> strand t lo hi ~whole:false) in
  let s =
    {
      compute_part;
      later = [];
      first = 0;
      last = -1;
      at = lo;
      begun = [];
      unsent = [];
      told = false;
    }
  in
  let effc (type a) (eff : a Effect.t) =
    match eff with
    | Run.Suspend _ -> (
      (* What is raised here would come in place of the strand: it is raised where the strand waits. *)
      match Outcome.firmly begin_the_rest t s with
      | () -> None
      | exception exn -> Some (fun (k : (a, unit) Effect.Deep.continuation) -> Run.raise_at k exn))
    | _ -> None
  in
  let result = ref None in
  let compute () =
    match node t s lo hi ~whole with
    | v -> result := Some (Ok v)
    | exception exn -> result := Some (Error (Outcome.caught exn))
  in
  Compat.match_with compute () { retc = Fun.id; exnc = raise; effc };
  match Option.get !result with
  | Ok v -> v
  | Error failure -> settle_after failure (List.map snd s.begun)

(* What leaves raise comes before a cancellation that was told between them. *)
let reduce manner pool ~chunk ~code ~combine ~start ~finish leaf =
  let t = { leaf; combine; chunk; pool; code; failures = Leftmost.create () } in
  Context.raising
    (fun () -> Leftmost.get t.failures)
    (fun () ->
      match manner with
      | Parallel -> strand t start finish ~whole:false
      | Concurrent -> concurrent t start finish)
