(* Loops whose body takes a chunk of indices: collections sweep it in a tight loop of their own,
   with no call per index but that of the user's function.

   The cost of an iteration is remembered under the code of the user's function, which the caller
   gives: the body's own code is the same for all users. What is remembered as too short to share
   is run by the caller, who reads the clock after the first iterations, if they are not very
   short: if the rest turns out to be worth it, it is shared after all. What is unknown is tried
   in the same way, unless there are so few iterations that each may be a job of its own: these
   are shared at once.

   Chunks are disjoint, so the leftmost event is that of the chunk with the smallest first index,
   and it is noted under that index. *)

open Muster_core

type 'a body = int -> int -> 'a option
(** A chunk, bounds included: [Some] ends the search, at least all that lies right of it. *)

let keep first (body : _ body) lo hi =
  match body lo hi with
  | None -> ()
  | Some v -> Leftmost.note first lo (Ok v)
  | exception exn -> Leftmost.note first lo (Error (Outcome.caught exn))

let shared code cost lo hi body =
  let first = Leftmost.create () in
  let fail lo failure = Leftmost.note first lo (Error failure) in
  let run = keep first body and stopped = Leftmost.stops first in
  Context.raising (Loop.failure_of first) (fun () ->
      Loop.share (Loop.job ~run ~stopped ~fail ~code ~grain:1) lo hi cost);
  Option.bind (Leftmost.get first) Result.to_option

(* {2 On the caller's own} *)

type 'a alone = { code : int; cost : int; from : int; began : int; body : 'a body }

(* No overflow: neither factor is larger than this. *)
let largest_factor = 1 lsl 30
let growth = Site.sample

(* So many iterations may have become long before that is seen. Of short ones a look takes a twentieth of a ns each. *)
let longest = 256

let last_chunk t lo hi =
  match t.body lo hi with
  | None ->
    let ticks = Machine.ticks () - t.began and iterations = hi - t.from + 1 in
    Site.confirm t.code t.cost ~ticks ~iterations;
    None
  | found -> found

let rec alone t lo hi ~chunk since =
  if hi - lo < chunk then last_chunk t lo hi
  else
    let next = lo + chunk in
    match t.body lo (next - 1) with
    | None ->
      let now = Machine.ticks () in
      let took = Int.min largest_factor (now - since)
      and rest = Int.min largest_factor (hi - next + 1) in
      let is_worth =
        if chunk = 1 && t.cost <> Site.unknown then Loop.is_long took rest
        else took * rest >= Loop.worth_moving * chunk
      in
      if not is_worth then
        if chunk = 1 && Loop.is_over_soon t.cost (hi - lo) took then t.body next hi
        else begin
          if chunk = longest then Loop.look_up_between_chunks ();
          alone t next hi ~chunk:(Int.min longest (growth * chunk)) now
        end
      else
        let cost = Site.learn t.code ~ticks:took ~iterations:chunk in
        shared t.code cost next hi t.body
    | found -> found

(* {2 Either} *)

let few = 64

(* One that is not tiny. *)
let sweep_long code cost lo hi body =
  let n = hi - lo + 1 in
  if Site.estimate cost n < Loop.worth || (cost = Site.unknown && n > few) then
    let began = Machine.ticks () in
    alone { code; cost; from = lo; began; body } lo hi ~chunk:1 began
  else shared code cost lo hi body

let sweep code lo hi (body : _ body) =
  let cost = Site.cost code in
  if Loop.is_tiny cost (hi - lo + 1) then body lo hi else sweep_long code cost lo hi body

let always body lo hi =
  body lo hi;
  None

let run code lo hi body = if lo <= hi then ignore (sweep code lo hi (always body))

let run_long code cost lo hi body =
  if lo <= hi then ignore (sweep_long code cost lo hi (always body))

(* {2 Searches}

   They may end at the first elements, for which nobody needs to be woken. *)

(* As many as that takes three chunks, or two; 0 if these are long. *)
let at_first cost =
  let two = 1 + growth in
  let three = two + longest in
  if Site.estimate cost three < Loop.worth then three
  else if Site.estimate cost two < Loop.worth then two
  else 0

let search code lo hi (body : _ body) =
  if lo > hi then None
  else
    let cost = Site.cost code in
    let first = if Site.estimate cost (hi - lo + 1) < Loop.worth then 0 else at_first cost in
    if first = 0 || hi - lo < 2 * first then sweep code lo hi body
    else
      let began = Machine.ticks () and last = lo + first - 1 in
      match alone { code; cost; from = lo; began; body } lo last ~chunk:1 began with
      | None -> sweep_long code (Site.cost code) (last + 1) hi body
      | found -> found
