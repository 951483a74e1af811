(* Result arrays. One is made with a value of its elements, since only that tells whether it is
   an array of floats.

   In a short one each element may be a job of its own, so none is computed before the others:
   the worker that has an element first makes the array. Two at once make two, and drop one.
   A long one is made with its first element, by all workers (Pages). *)

module Compat = Muster_core.Compat
module Adaptive = Muster_loop.Adaptive
module Chunks = Muster_loop.Chunks
module Pages = Muster_loop.Pages
module Array = Stdlib.Array

type 'a t = { n : int; made : 'a array Atomic.t  (** empty until it is there *) }

(* Two arrays of that length cost less than the shortest loop that is shared. *)
let short = 1024
let[@inline] put a i v = Compat.set_fresh a i v

(* The array, with its element [i] in it. *)
let with_element t i v =
  let seen = Atomic.get t.made in
  let mine = if Array.length seen > 0 then seen else Compat.make_blank t.n ~like:v in
  if mine != seen then ignore (Atomic.compare_and_set t.made seen mine);
  let made = Atomic.get t.made in
  put made i v;
  made

let build_racing code n value rest =
  let t = { n; made = Atomic.make [||] } in
  Chunks.run_long code 0 (n - 1) (fun lo hi -> rest (with_element t lo (value lo)) (lo + 1) hi);
  Atomic.get t.made

let build_long code n value rest =
  let made = Pages.make n (value 0) in
  Chunks.run_long code 1 (n - 1) (fun lo hi -> rest made lo hi);
  made

(* {2 Tiny ones}

   They stay with their caller. *)

let build_at_once n value rest =
  let made = Compat.make_fresh n (value 0) in
  rest made 1 (n - 1);
  made

(* [n] elements, at least 1: [value i] is that of index [i], and [rest a lo hi] puts those of
   [lo] to [hi] into [a]. *)
let build code n value rest =
  if Adaptive.is_trusted code ~n then build_at_once n value rest
  else if n <= short then build_racing code n value rest
  else build_long code n value rest
