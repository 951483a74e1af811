(* Runs a function over a sequence: reads a block of it, and while the workers are at that block,
   reads the next.

   Only one thread reads at a time, and every element is forced once, in order. What follows the
   block in work is read ahead of its need, one block: at most as many elements as are in work or
   done, or [first_block], and never more than [longest].

   Where the function was fast the last time, the caller begins without reading ahead, in a loop of the function's own,
   and goes on so for as long as the elements are so fast; to the end, where it is the only worker. *)

open Muster_core
open Muster_loop

let first_block = 16
let longest = 4096

type 'a block = {
  elements : 'a list;
  next : 'a Stdlib.Seq.t option;
  failure : Outcome.failure option;
}
(** Elements read; what comes after, unless that is the end or a failure. *)

(* A cancellation that reading was told of is told again to what is done with the elements before: as
   code that cleans up it might wait for ever. *)
let read size s =
  let hook = Compat.hook () and tell_again = Context.to_tell_again () in
  let rec go last s n =
    if n = 0 then (last, Some s, None)
    else
      match s () with
      | Stdlib.Seq.Nil -> (last, None, None)
      | Cons (x, s) -> go (Chain.add last x) s (n - 1)
      | exception exn ->
        let failure = Outcome.caught exn in
        tell_again ();
        (last, None, Some failure)
  in
  let last, next, failure = go hook s size in
  { elements = (Chain.from hook last).first; next; failure }

type 'a consumer = {
  code : int;
  unit : int;  (** blocks begin at multiples of it; it divides [first_block] *)
  block : start:int -> 'a list -> unit;
  some : int -> 'a Stdlib.Seq.t -> int -> 'a Stdlib.Seq.t option;
}
(** What to do with a block, and with the next so many elements ([some start s n]), of which there may be fewer: what is
    left then. [start] is the index of the first. All lengths but the last one's are multiples of [unit], too. *)

let rec blocks c b start size =
  match b with
  | { elements; next = None; failure } ->
    c.block ~start elements;
    Option.iter Context.rethrow failure
  | { elements; next = Some s; _ } ->
    let following = Int.min longest (start + size) in
    let (), b = Fork.both (fun () -> c.block ~start elements) (fun () -> read following s) in
    blocks c b (start + size) following

(* {2 In place} *)

(* An element that takes longer is worth reading ahead. *)
let short = Machine.ticks_of_us 1 / 10

(* Where a look comes sooner, the next one may come later. *)
let few_looks = Loop.quantum / 2

(* For as long as elements take no longer than [most] each; what is left then. It learns where nobody reads ahead, too: what
   is not known as short asks each time who is there. *)
let rec alone ~most c s i n =
  Loop.look_up_between_chunks ();
  let since = Machine.ticks () in
  let rest = c.some i s n in
  let took = Machine.ticks () - since and cost = Site.cost c.code in
  match rest with
  | None ->
    (* At least that: there may have been fewer. *)
    if took > n * most || Site.estimate cost 1 > short then
      Site.confirm c.code cost ~ticks:took ~iterations:n;
    None
  | Some s ->
    if n >= first_block then Site.confirm c.code cost ~ticks:took ~iterations:n;
    if took > n * most then Some (s, i + n)
    else alone ~most c s (i + n) (if took < few_looks then Int.min longest (4 * n) else n)

(* Times as many elements as are done between two looks, it does not overflow. *)
let no_limit = max_int / longest

(* Nobody would read ahead in a pool of one. *)
let from_block c s start =
  let size = first_block in
  let go () = blocks c (read size s) start size in
  let all () = ignore (alone ~most:no_limit c s start c.unit) in
  Pool.with_current ~in_place:go (fun w -> if Pool.size w.pool = 1 then all () else go ())

(* What was fast, if that is in doubt, is tried on the first elements, as there may be few. *)
let tried c s =
  let since = Machine.ticks () in
  match c.some 0 s c.unit with
  | None -> None
  | Some s ->
    let ticks = Machine.ticks () - since in
    if Loop.is_long (ticks / c.unit) Site.sample then begin
      ignore (Site.learn c.code ~ticks ~iterations:c.unit);
      Some (s, c.unit)
    end
    else alone ~most:short c s c.unit (first_block - c.unit)

let run c s =
  let cost = Site.cost c.code in
  if Site.estimate cost 1 > short then from_block c s 0
  else
    let first = if cost <= Walk.trivial then Walk.few else first_block in
    let left = if Site.is_trusted () then alone ~most:short c s 0 first else tried c s in
    Option.iter (fun (s, i) -> from_block c s i) left

(* {2 The first two elements}

   A sequence of one element needs nothing of all this. *)

(* The sequence that began with [x], and went on as [rest] did. *)
let put_back x rest () = Stdlib.Seq.Cons (x, rest)

(* What the strand is a part of, without an allocation where it has a place, or is in no pool. *)
let part_of () =
  let w = Context.place () in
  if Place.owned w then w.Place.own.context else Place.uncancelled

(* Ended as [exn] says. [before]: what the strand was a part of. If it was told of a cancellation since, it
   leaves: as code that cleans up, what is done with the first element might wait for ever. *)
let failing exn ~before =
  let failure = Outcome.caught exn in
  let told = before != Place.uncancelled && part_of () == Place.uncancelled in
  if exn == Promise.Cancelled && told then Outcome.raise failure;
  fun () -> Context.rethrow failure
