(* Result arrays. One is made with a value of its elements, since only that tells whether it is
   an array of floats.

   In a short one each element may be a job of its own, so none is computed before the others:
   whoever has an element first makes the array. Two at once make two, of which one is dropped.

   Making a long one takes as long as computing a good part of it, mostly for the kernel's part in
   giving new memory. So one worker makes it with the first element, while others begin: the
   chunks that are done before it is there are arrays of their own, and move into it later. *)

open Muster_core
open Muster_loop
module Array = Stdlib.Array
module List = Stdlib.List

type 'a t = {
  n : int;
  made : 'a array Atomic.t;  (** empty until it is there *)
  early : (int * 'a array) list Atomic.t;  (** chunks that have to move, by first index *)
  refused : bool Atomic.t;  (** there is no memory for it *)
}

(* Two arrays of that length cost less than what a loop must cost to be shared. *)
let short = 1024
let long = 1 lsl 16
let[@inline] put a i v = Compat.set_fresh a i v
let push list it = Place.change list (List.cons it)

(* The array, with its element [i] in it. *)
let with_element t i v =
  let seen = Atomic.get t.made in
  let made = if Array.length seen > 0 then seen else Array.make t.n v in
  if made != seen && Atomic.compare_and_set t.made seen made then made
  else begin
    let made = Atomic.get t.made in
    put made i v;
    made
  end

let build_racing t code cost value rest =
  Chunks.run_long code cost 0 (t.n - 1) (fun lo hi ->
      rest (with_element t lo (value lo)) (lo + 1) hi)

(* {2 Long ones} *)

(* A chunk ends the loop where there will be no array; the maker's exception lies left of its. *)
let chunk t value rest lo hi =
  let made = Atomic.get t.made in
  if Array.length made > 0 then rest made lo hi
  else if Atomic.get t.refused then raise Promise.Skipped
  else push t.early (lo, Array.init (hi - lo + 1) (fun d -> value (lo + d)))

let move_early t =
  let made = Atomic.get t.made and early = Array.of_list (Atomic.get t.early) in
  let move (lo, piece) = Array.iteri (fun d v -> put made (lo + d) v) piece in
  Chunks.run (Machine.code_of move) 0
    (Array.length early - 1)
    (fun lo hi ->
      for i = lo to hi do
        move early.(i)
      done)

let build_beside t code cost value rest =
  let first = value 0 in
  let make () =
    Outcome.on_failure
      (fun () -> Atomic.set t.made (Compat.make_fresh t.n first))
      (fun _ -> Atomic.set t.refused true)
  in
  let fill () = Chunks.run_long code cost 1 (t.n - 1) (chunk t value rest) in
  if t.n < long then begin
    make ();
    fill ()
  end
  else begin
    ignore (Fork.both make fill);
    move_early t
  end

(* {2 Tiny ones}

   Those go to nobody else, by what is remembered. *)

let build_at_once n value rest =
  let made = Compat.make_fresh n (value 0) in
  rest made 1 (n - 1);
  made

(* [n] elements, at least 1: [value i] is that of index [i], and [rest a lo hi] puts those of
   [lo] to [hi] into [a]. *)
let build code n value rest =
  let cost = Site.cost code in
  if Chunks.is_tiny cost n then build_at_once n value rest
  else begin
    let t = { n; made = Atomic.make [||]; early = Atomic.make []; refused = Atomic.make false } in
    if n <= short then build_racing t code cost value rest else build_beside t code cost value rest;
    Atomic.get t.made
  end
