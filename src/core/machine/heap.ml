(* A minor collection stops all domains. It starts when the first worker's heap is full and costs
   some 10 us of meeting at barriers, and the copying of all that survives. A larger heap has fewer
   of both, and loses when it no longer fits the caches (doc/decisions.md has the figures).

   The caller's heap follows the rule too while it works in a pool. A program that goes on
   sequentially gets its old heap back, once it has filled the larger one often enough. *)

let runtime's_default = 262_144
let larger = 524_288

let parameters =
  match Sys.getenv_opt "OCAMLRUNPARAM" with
  | None -> Sys.getenv_opt "CAMLRUNPARAM"
  | given -> given

(* Without a number ([s], [s32k]) the runtime sets one, too. *)
let chosen_by_user =
  let settings = String.split_on_char ',' (Option.value parameters ~default:"") in
  List.exists (String.starts_with ~prefix:"s") settings

let words () = (Gc.get ()).minor_heap_size

(* The runtime reserves address space, for each domain that there may be, for the largest heap that
   any domain has had; where it gets none it ends the program. Hence three quarters. *)
let has_room words =
  let space = Machine.address_space () in
  space < 0 || words * (Sys.word_size / 8) * Machine.runtime_limit () < space / 4 * 3

(* {2 What is known of the calling domain's heap} *)

type mine = {
  mutable ours : int;  (** the size as it was left here last; 0: never. Another is the program's *)
  mutable original : int;  (** the size before *)
  mutable since : float;  (** words that were allocated until it became the larger one *)
}

let mine = Domain.DLS.new_key (fun () -> { ours = 0; original = 0; since = 0. })

let set wanted =
  let mine = Domain.DLS.get mine and before = words () in
  if wanted < before || has_room wanted then Machine.set_minor_heap ~words:wanted;
  if mine.ours = 0 then mine.original <- before;
  mine.ours <- words ();
  mine.since <- Gc.minor_words ()

let is_managed words = words = runtime's_default || words = larger
let is_program's mine words = mine.ours <> 0 && mine.ours <> words

let choice = function
  | Some words -> Some words
  | None ->
    let words = words () in
    if chosen_by_user || is_managed words then None else Some words

let for_workers ~chosen ~workers =
  let has_default () = (not chosen_by_user) && words () = runtime's_default in
  if chosen = None && workers > 1 && has_default () && has_room larger then Some larger else chosen

let settle ~chosen ~workers =
  if not (is_program's (Domain.DLS.get mine) (words ())) then
    Option.iter set (for_workers ~chosen ~workers)

(* {2 The caller's, afterwards} *)

(* To give it back and to have it grow again in the next visit takes some 2 ms, for a collection and
   new pages. To fill the heap so often takes 100 ms or more. *)
let often = 40.

let give_back ~chosen =
  let mine = Domain.DLS.get mine in
  let is_ours = chosen = None && mine.ours = larger && mine.original < larger in
  let is_often () = Gc.minor_words () -. mine.since > often *. float larger in
  if is_ours && is_often () && words () = larger then set mine.original
