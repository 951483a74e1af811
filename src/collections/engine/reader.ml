(* Runs a function over a sequence.

   Where the function is cheap the caller calls it element by element, in place. Otherwise it reads
   a block of elements, and the function of lists runs over that; then it reads the next one. The
   time of each block tells what comes after it. *)

module Context = Muster_core.Context
module Machine = Muster_core.Machine
module Outcome = Muster_core.Outcome
module Adaptive = Muster_loop.Adaptive
module Site = Muster_loop.Site
module Tuning = Muster_loop.Tuning

(* Elements. The first block has two leaves of reductions, and the longest should stay in a
   cache. *)
let first_block = 2 * Tally.run
let longest_block = 4096

(* How many times longer the next stretch in place is. *)
let growth = 4

type 'a consumer = {
  code : int;
  unit : int;  (** stretches and blocks begin at multiples of it *)
  in_place : int -> 'a Stdlib.Seq.t -> int -> 'a Stdlib.Seq.t option;
  block : int -> 'a list -> unit;
}
(** [in_place start s n] consumes [n] elements, and is what comes after them unless that is the end.
    [block start l] consumes a block. [start] is the index of the first element. *)

type 'a block = {
  elements : 'a list;
  next : 'a Stdlib.Seq.t option;
  failure : Outcome.failure option;
}
(** Elements read; then the rest, unless that is the end or a failure. *)

(* If reading is told of a cancellation, so is what is done with the elements before: as code that
   cleans up it might wait for ever. *)
let read size s =
  let tell_again = Context.to_tell_again () in
  let block elements next failure = { elements = Stdlib.List.rev elements; next; failure } in
  let rec go elements s n =
    if n = 0 then block elements (Some s) None
    else
      match s () with
      | Stdlib.Seq.Nil -> block elements None None
      | Cons (x, s) -> go (x :: elements) s (n - 1)
      | exception exn ->
        let failure = Outcome.caught exn in
        tell_again ();
        block elements None (Some failure)
  in
  go [] s size

let run_block c s start size =
  let { elements; next; failure } = read size s in
  if not (Stdlib.List.is_empty elements) then c.block start elements;
  Option.iter Context.rethrow failure;
  next

(* At the end [n] may be more than there were: so only a cost that has grown is learnt. *)
let confirm c next n cost ticks =
  if Option.is_some next || ticks > n * Tuning.worth_a_block then
    Site.confirm c.code cost ~ticks ~iterations:n

(* Unless the function was cheap a moment ago, it is tried on as few elements as can be. *)
let run c s =
  let rec go s start size since =
    let cost = Site.cost c.code in
    if Site.estimate cost 1 > Tuning.worth_a_block then
      let size = Int.max first_block size in
      let next = run_block c s start size in
      continue next (start + size) (2 * size) (Machine.ticks ())
    else begin
      Adaptive.checkpoint ();
      let next = c.in_place start s size in
      let now = Machine.ticks () in
      confirm c next size cost (now - since);
      continue next (start + size) (growth * size) now
    end
  and continue next start size now =
    match next with None -> () | Some s -> go s start (Int.min longest_block size) now
  in
  let first = if Site.is_trusted () then first_block else c.unit in
  go s 0 first (Machine.ticks ())
