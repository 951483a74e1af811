(* A work deque: the owner pushes and pops at the bottom, thieves steal at the top.

   It follows the idempotent work stealing of Michael, Vechev and Saraswat (PPoPP 2009). One word
   tells where both ends are; thieves change it by compare-and-set, the owner by plain stores. So
   the owner may undo a thief's step, and both may get one entry. That does no harm: an entry may be
   stale anyway, and the promise decides who runs the task (Promise.claim). The paper's tags against
   words that come back (ABA) are not needed: a thief reads the slot after it has changed the word.

   - [ends] is one word: [top], the index of the oldest entry modulo 2^28, and [size], the number of
     entries from there to the bottom.
   - [slots] is a ring. Slot [i land (length - 1)] holds the entry of index [i], or [empty]. Only
     the owner fills a slot. A thief that has moved [top] beyond index [i] takes the content of its
     slot by exchange.
   - [spare] slots from the bottom on, [most_spare] at most, hold popped entries, or nothing: the
     owner may overwrite them without a look. [own] is the owner's alone: words that thieves read at
     every look must not share a cache line with it.

   No entry is lost. Until it is popped, or a thief has moved [top] beyond its index, it is in its
   slot and its index within the ends. That thief has yet to look into a slot, or has the entry.
   - The owner's ends may bring back indices whose slots thieves have emptied, or are about to.
   - The owner fills a slot where it popped, or one that it has seen empty. A late thief gets the
     new entry there, out of turn.
   - The owner may show another ring ([rebuild]): the old one's slots with live entries, those of
     late thieves first, then empty ones. So a thief may use any ring that it reads after it has
     changed the word. The ring comes before its ends, which undo what thieves do to the old ends.

   No ended entry stays for long. An entry whose task has begun is not live. The owner drops that of
   a task which it has run in place, if it is at an end ([retire]). It empties the slots between
   live ones ([tidy]) after [patience] pushes and one more for each live entry; a task run in place
   that is at no end counts as [weight] of these. A wide ring becomes narrower when entries were
   few for long: [peak] decays slowly.

   Order. The slot is written before the ends, and the ends are read before the slot: a party that
   gets an entry sees what the owner did before the push. [push] stores the ends by an atomic write,
   so a publisher reads after it whether a worker sleeps or is missing (Sleep).

   A signal's handler or a finaliser may run where an operation allocates or a loop turns round, and
   push and pop too. No operation has such a point between reading the ends and storing them. (So it
   is in native code. Bytecode takes signals at each call.) *)

type 'a ring = 'a Atomic.t array

type 'a t = {
  empty : 'a; is_live : 'a -> bool; slots : 'a ring Atomic.t; ends : int Atomic.t; own : 'a own }

and 'a own = {
  mutable ring : 'a ring;  (** the one that [slots] shows to thieves *)
  mutable mask : int;  (** its length - 1 *)
  mutable spare : int;
  mutable due : int;  (** pushes until it is tidied: rid of stale entries *)
  mutable peak : int;  (** of the live entries when it was tidied last *)
  mutable turns : int;  (** of [tidy], and pushes that were no plain ones *)
  narrowest : int;  (** the first ring's length *)
}

(* {2 The word} *)

let bits = 28
let field = (1 lsl bits) - 1
let one_entry = 1 lsl bits
let[@inline] top ends = ends land field
let[@inline] size_of ends = ends lsr bits

(* Modulo the length of any ring. *)
let[@inline] bottom ends = top ends + size_of ends
let[@inline] without_oldest e = ((top e + 1) land field) lor (e land lnot field) - one_entry

(* {2 The owner's end} *)

let patience = 256
let weight = 4
let most_spare = 8

let create ~capacity ~is_live empty =
  let ring = Array.init capacity (fun _ -> Atomic.make empty) in
  let own =
    { ring; mask = capacity - 1; spare = 0; peak = 0; turns = 0; due = patience;
      narrowest = capacity }
  in
  let ends = Compat.padded (Atomic.make 0) in
  { empty; is_live; slots = Atomic.make ring; ends; own = Compat.padded own }

let[@inline] slot ring i = Compat.atomic_at ring (i land (Array.length ring - 1))
let[@inline] own_slot own i = Compat.atomic_at own.ring (i land own.mask)
let[@inline] size d = size_of (Atomic.get d.ends)

(* Empties the slot if its entry is not live. *)
let[@inline] holds_live d slot =
  let x = Atomic.get slot in
  x != d.empty
  && (d.is_live x || (Compat.store slot d.empty; false))

(* Empties the other slots from index [i] on, [left] of them. *)
let rec count_live d i left ~live =
  if left = 0 then live
  else count_live d (i + 1) (left - 1) ~live:(live + Bool.to_int (holds_live d (own_slot d.own i)))

let fitting own ~live length =
  if live > length / 2 then 2 * length
  else if live < length / 8 && length > 4 * own.narrowest then length / 2
  else length

let rec sweep d =
  let own = d.own in
  if own.spare > 0 then begin
    own.spare <- own.spare - 1;
    Compat.store (own_slot own (bottom (Atomic.get d.ends) + own.spare)) d.empty;
    sweep d
  end

(* [old]'s slots from that index on, those with live entries first, and how many these are. At most
   [live] are, unless a handler interrupts this. *)
let arranged d old first ~live ~length =
  let ring = Array.make length (slot old 0) and filled = ref 0 and free = ref length in
  for i = first to first + Array.length old - 1 do
    let slot = slot old i in
    if !filled < !free then
      if holds_live d slot then (ring.(!filled) <- slot; incr filled)
      else if !free > live then (decr free; ring.(!free) <- slot)
  done;
  for i = !filled to !free - 1 do
    ring.(i) <- Atomic.make d.empty
  done;
  (ring, !filled)

(* A handler that interrupts this may push, pop, retire, or show another ring: [turns] (as [due] is
   0) and [spare] tell. Then this ring is left to the collector. *)
let rebuild ?(least = 0) d =
  sweep d;
  let own = d.own in
  let old = own.ring and turns = own.turns and due = own.due and e = Atomic.get d.ends in
  own.due <- 0;
  let n = Array.length old in
  let live = count_live d (bottom e) n ~live:0 in
  let length = Int.max least (fitting own ~live:(Int.max own.peak live) n) in
  if length > field then raise Out_of_memory;
  let ring, filled = arranged d old (bottom e) ~live ~length in
  if own.ring == old && own.turns = turns && own.spare = 0 then begin
    own.due <- due;
    own.ring <- ring;
    own.mask <- length - 1;
    Atomic.set d.slots ring;
    Atomic.set d.ends (filled * one_entry)
  end

let move_in d =
  let least = 2 * d.own.narrowest in
  if Array.length d.own.ring < least then rebuild ~least d

let[@inline] without_newest d e =
  let own = d.own in
  if own.spare < most_spare then own.spare <- own.spare + 1
  else Compat.store (own_slot own (bottom e - 1 + most_spare)) d.empty;
  Compat.store_int d.ends (e - one_entry)

let[@inline] counts d x = x != d.empty && d.is_live x

let[@inline] newest d e = Atomic.get (own_slot d.own (bottom e - 1))

let rec trim d =
  let e = Atomic.get d.ends in
  if size_of e > 0 then
    if not (counts d (newest d e)) then (
      without_newest d e;
      trim d)
    else if not (holds_live d (own_slot d.own (top e))) then (
      Compat.store_int d.ends (without_oldest e);
      trim d)

let rec oldest_from d ring is_it i left =
  if left = 0 then d.empty
  else
    let x = Atomic.get (slot ring i) in
    if x == d.empty || not (is_it x) then oldest_from d ring is_it (i + 1) (left - 1) else x

(* In the whole ring, as the ends may be another one's: so it may see an entry not yet counted. *)
let oldest_such is_it d =
  let ring = Atomic.get d.slots in
  oldest_from d ring is_it (top (Atomic.get d.ends)) (Array.length ring)

let tidy d =
  let own = d.own in
  own.turns <- own.turns + 1;
  sweep d;
  trim d;
  let e = Atomic.get d.ends in
  let live = count_live d (top e) (size_of e) ~live:0 in
  own.peak <- Int.max live (own.peak * 7 / 8);
  own.due <- patience + live;
  if fitting own ~live:own.peak (own.mask + 1) <= own.mask then rebuild d

let[@inline] drop d x =
  let e = Atomic.get d.ends in
  if size_of e > 0 && newest d e == x then without_newest d e

let retire d x =
  let own = d.own and before = size d in
  drop d x;
  if size d = before then trim d;
  if size d = before then begin
    own.due <- own.due - weight;
    if own.due <= 0 then tidy d
  end

let rec push d x =
  let own = d.own and e = Atomic.get d.ends in
  let slot = own_slot own (bottom e) in
  let is_free = own.spare > 0 || (size_of e <= own.mask && Atomic.get slot == d.empty) in
  if own.due > 0 && is_free then begin
    own.due <- own.due - 1;
    own.spare <- Int.max 0 (own.spare - 1);
    Compat.store slot x;
    Atomic.set d.ends (e + one_entry)
  end
  else begin
    own.turns <- own.turns + 1;
    if own.due > 0 then rebuild d else tidy d;
    push d x
  end

let[@inline] peek d =
  let e = Atomic.get d.ends in
  if size_of e = 0 then d.empty else newest d e

(* A thief that came late may have taken the newest entry and left others below it. *)
let rec pop d =
  let e = Atomic.get d.ends in
  if size_of e = 0 then d.empty
  else begin
    let x = newest d e in
    without_newest d e;
    if x != d.empty then x else pop d
  end

(* From index [i] on, [left] of them. Entries stay in their slots while [f] runs, unless the ring is
   another one. *)
let rec from_oldest d is_it f ring i left =
  let e = Atomic.get d.ends in
  if d.own.ring != ring then from_oldest d is_it f d.own.ring (top e) left
  else if left > 0 && i < bottom e then begin
    let x = Atomic.get (slot ring i) in
    let is_one = x != d.empty && is_it x in
    if is_one then f x;
    from_oldest d is_it f ring (i + 1) (left - Bool.to_int is_one)
  end

(* [n] of them are among the [k] newest entries. *)
let rec down_to_oldest d is_it f e k n =
  let x = if k = size_of e then d.empty else Atomic.get (own_slot d.own (bottom e - 1 - k)) in
  let is_one = x != d.empty && is_it x in
  if k = size_of e || (counts d x && not is_one) then
    from_oldest d is_it f d.own.ring (bottom e - k) n
  else down_to_oldest d is_it f e (k + 1) (n + Bool.to_int is_one)

let each_oldest_first is_it f d = down_to_oldest d is_it f (Atomic.get d.ends) 0 0

(* {2 The thieves' end} *)

let rec steal d =
  let e = Atomic.get d.ends in
  if size_of e = 0 then d.empty
  else if Atomic.compare_and_set d.ends e (without_oldest e) then
    let x = Atomic.exchange (slot (Atomic.get d.slots) (top e)) d.empty in
    if x == d.empty then steal d else x
  else steal d

let is_empty d = size d = 0
