(* A minor collection stops all domains. It starts when the first worker's heap is full and costs
   some 10 us of meeting at barriers, and the copying of all that survives. A larger heap has fewer
   of both, and loses when it no longer fits the caches (doc/decisions.md has the figures).

   The caller's heap follows the rule too while it works in a pool. A program that goes on
   sequentially gets its old heap back: lists that die young take up to 1.4 times as long in 1 M
   words. After short visits the heap stays as it is. *)

let runtime's_default = 262_144
let first = 524_288
let largest = 1_048_576
let survival = 0.01

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
  mutable looks : int;  (** so often it was full for a look *)
  mutable allocated : float;  (** words, as of the last look *)
  mutable promoted : float;
}

let none () = { ours = 0; original = 0; looks = 0; allocated = 0.; promoted = 0. }
let mine = Domain.DLS.new_key none

let set wanted =
  let mine = Domain.DLS.get mine and before = words () in
  if wanted < before || has_room wanted then Machine.set_minor_heap ~words:wanted;
  if mine.ours = 0 then mine.original <- before;
  mine.ours <- words ()

let is_managed words = words = runtime's_default || words = first
let is_program's mine words = mine.ours <> 0 && mine.ours <> words

(* A heap that an earlier pool has grown to 1 M words counts as a choice. *)
let choice = function
  | Some words -> Some words
  | None ->
    let words = words () in
    if chosen_by_user || is_managed words then None else Some words

let for_workers ~chosen ~workers =
  let has_default () = (not chosen_by_user) && words () = runtime's_default in
  if chosen = None && workers > 1 && has_default () && has_room first then Some first else chosen

let settle ~chosen ~workers =
  if not (is_program's (Domain.DLS.get mine) (words ())) then
    Option.iter set (for_workers ~chosen ~workers)

(* {2 Growth} *)

let grown words ~survived =
  let next =
    if words = runtime's_default then first
    else if words = first && survived >= survival then largest
    else words
  in
  if next = words || has_room next then next else words

let grow mine ~current ~survived =
  let next = grown current ~survived in
  if next <> current && not (is_program's mine current) then set next

(* A look takes so many heaps full: how much a single collection finds alive is chance. *)
let heaps_to_a_look = 8.

(* The first look only notes where the count begins. (Words that a collection copies may have been
   allocated before, or by another domain.) *)
let look mine ~current =
  let all = Gc.minor_words () in
  let allocated = all -. mine.allocated in
  if allocated >= heaps_to_a_look *. float current then begin
    let _, promoted, _ = Gc.counters () in
    let survived = Float.min 1. ((promoted -. mine.promoted) /. allocated) in
    mine.looks <- mine.looks + 1;
    mine.allocated <- all;
    mine.promoted <- promoted;
    if mine.looks > 1 then grow mine ~current ~survived
  end

let fit ~chosen ~workers =
  settle ~chosen ~workers;
  if chosen = None && not chosen_by_user then look (Domain.DLS.get mine) ~current:(words ())

(* {2 The caller's, afterwards} *)

(* To give it back and to have it grow again in the next visit takes some 2 ms, for a collection and
   new pages. To fill the heap for so many looks takes 100 ms or more. *)
let long = 5

let give_back ~chosen =
  let mine = Domain.DLS.get mine in
  if mine.looks > 0 then begin
    let current = words () in
    let grew = current = first || current = largest in
    let is_ours = chosen = None && grew && current = mine.ours && current > mine.original in
    if mine.looks >= long && is_ours then set mine.original;
    mine.looks <- 0;
    mine.allocated <- 0.
  end
