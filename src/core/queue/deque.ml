(* A work deque: the owner pushes and pops at the bottom, thieves steal at the top.

   It follows the idempotent work stealing of Michael, Vechev and Saraswat (PPoPP 2009). One word
   tells where both ends are; thieves change it by compare-and-set, the owner by plain stores. So
   the owner may undo a thief's step, and an entry may come to both of them. No harm: an entry may
   be stale anyway, and knows by itself whether it counts (Promise.claim). Their tags against words
   that come back (ABA) are not needed: a thief looks into the slot after it has changed the word.

   - [ends] is one word of three fields: [top], the index of the oldest entry modulo 2^28; [size],
     the number of entries from there to the bottom; [order], log2 of the ring's length.
   - [slots] is a ring. Slot [i land (length - 1)] holds the entry of index [i], or [empty]. Only
     the owner fills a slot. A thief that has moved [top] beyond index [i] takes the content of its
     slot by exchange.
   - [spare] slots from the bottom on hold popped entries, or nothing: the owner may overwrite them
     without a look. It is the owner's alone, as are [ring] (the one that [slots] shows) and [mask]:
     words that thieves read at every look must not share a cache line with them.

   No entry is lost. Until it is popped, or a thief has moved [top] beyond its index, it is in its
   slot and its index within the ends. That thief has yet to look into the slot, or has the entry.
   - The owner stores ends that it has computed from those it read; thieves may have moved [top]
     meanwhile. That brings back indices whose slots are empty, or about to be emptied. A thief that
     steals there finds nothing and goes on.
   - Nobody overwrites an entry that a thief is about to take. The owner fills a slot where it
     popped (then the entry was the owner's), or one that it has seen empty (then the thief has been
     there). A thief that comes late to that slot gets the new entry, out of turn.
   - A wider ring has the same slots for the same indices, so it makes no difference in which ring a
     thief finds its slot.
   - Ends that come back to values that a thief has read (ABA) are as good as those. They tell of
     the same ring, as its order only grows, and its slots hold the present entries.

   Order. The slot is written before the ends, and the ends are read before the slot: a party that
   gets an entry sees what the owner did before the push. [push] stores the ends by an atomic write,
   so a publisher reads after it whether a worker sleeps or is missing (Sleep).

   A signal's handler or a finaliser may run where an operation allocates or a loop turns round, and
   push and pop too. No operation has such a point between reading the ends and storing them. (So it
   is in native code. Bytecode takes signals at each call.) *)

type 'a ring = 'a Atomic.t array
type 'a t = { empty : 'a; slots : 'a ring Atomic.t; ends : int Atomic.t; own : 'a own }

and 'a own = {
  mutable spare : int;
  mutable ring : 'a ring;  (** the one that [slots] shows to thieves *)
  mutable mask : int;  (** its length - 1 *)
  narrowest : int;  (** the first ring's length *)
}

(* {2 The word} *)

let bits = 28
let field = (1 lsl bits) - 1
let one_entry = 1 lsl bits
let one_order = 1 lsl (2 * bits)
let[@inline] top ends = ends land field
let[@inline] size_of ends = (ends lsr bits) land field
let[@inline] order ends = ends lsr (2 * bits)

(* Modulo the length of any ring: the other fields are multiples of it. *)
let[@inline] bottom ends = ends + (ends lsr bits)
let without_oldest e = ((top e + 1) land field) lor (e land lnot field) - one_entry

(* {2 The owner's end} *)

let rec log2 n = if n = 1 then 0 else 1 + log2 (n / 2)

let create ~capacity empty =
  let ring = Array.init capacity (fun _ -> Atomic.make empty) in
  let own = { spare = 0; ring; mask = capacity - 1; narrowest = capacity } in
  let ends = Atomic.make (log2 capacity * one_order) in
  { empty; slots = Atomic.make ring; ends = Compat.padded ends; own = Compat.padded own }

let[@inline] slot ring i = Compat.atomic_at ring (i land (Array.length ring - 1))
let[@inline] own_slot own i = Compat.atomic_at own.ring (i land own.mask)
let[@inline] size d = size_of (Atomic.get d.ends)

(* Shows the ring first: of another order than the ends tell, it gives thieves nothing. A handler
   that interrupts [Array.init] may have grown the deque itself, or pushed into slots that the wide
   ring does not have: then that ring is left to the collector. *)
let grow d =
  let own = d.own in
  let old = own.ring and e = Atomic.get d.ends in
  let first = top e and kept = size_of e + own.spare and length = 2 * Array.length old in
  if length > field then raise Out_of_memory;
  let slot_at i =
    let distance = (i - first) land (length - 1) in
    if distance < kept then slot old (first + distance) else Atomic.make d.empty
  in
  let wide = Array.init length slot_at in
  let e = Atomic.get d.ends in
  if own.ring == old && (top e + size_of e + own.spare - first) land field <= kept then begin
    own.ring <- wide;
    own.mask <- length - 1;
    Atomic.set d.slots wide;
    Atomic.set d.ends (e + one_order)
  end

(* A wider ring, not another one: a thief that has read the ends long ago would take the old for
   it. *)
let move_in d = if Array.length d.own.ring = d.own.narrowest then grow d

let rec push d x =
  let own = d.own and e = Atomic.get d.ends in
  let slot = own_slot own (bottom e) in
  if own.spare > 0 || (size_of e <= own.mask && Atomic.get slot == d.empty) then begin
    own.spare <- Int.max 0 (own.spare - 1);
    Compat.store slot x;
    Atomic.set d.ends (e + one_entry)
  end
  else begin
    grow d;
    push d x
  end

let[@inline] newest d e =
  if size_of e = 0 then d.empty else Atomic.get (own_slot d.own (bottom e - 1))

let[@inline] without_newest d e =
  d.own.spare <- d.own.spare + 1;
  Compat.store_int d.ends (e - one_entry)

let[@inline] peek d = newest d (Atomic.get d.ends)

(* A thief that came late may have taken the newest entry and left others below it. *)
let rec pop d =
  let e = Atomic.get d.ends in
  let x = newest d e in
  if x != d.empty then begin
    without_newest d e;
    x
  end
  else if size_of e = 0 then x
  else begin
    without_newest d e;
    pop d
  end

let[@inline] drop d x =
  let e = Atomic.get d.ends in
  if size_of e > 0 && newest d e == x then without_newest d e

(* A thief has taken the entry of an empty slot, or is about to. *)
let rec drop_stale d ~is_live =
  let e = Atomic.get d.ends in
  let x = newest d e in
  if x != d.empty && not (is_live x) then begin
    without_newest d e;
    drop_stale d ~is_live
  end

(* The popped entries, the newest last. *)
let rec sweep d =
  let own = d.own in
  if own.spare > 0 then begin
    let last = bottom (Atomic.get d.ends) + own.spare - 1 in
    Compat.store (own_slot own last) d.empty;
    own.spare <- own.spare - 1;
    sweep d
  end

(* {2 The thieves' end} *)

(* Whether it is the ring of those ends: the owner may be about to show a wider one. *)
let[@inline] fits ring e = Array.length ring = 1 lsl order e

let rec steal d =
  let e = Atomic.get d.ends in
  if size_of e = 0 then d.empty
  else
    let ring = Atomic.get d.slots in
    if not (fits ring e) then d.empty
    else if Atomic.compare_and_set d.ends e (without_oldest e) then
      let x = Atomic.exchange (slot ring (top e)) d.empty in
      if x == d.empty then steal d else x
    else steal d

let is_empty d =
  let e = Atomic.get d.ends in
  size_of e = 0 || not (fits (Atomic.get d.slots) e)

let rec oldest_from d ring is_it i left =
  if left = 0 then d.empty
  else
    let x = Atomic.get (slot ring i) in
    if x == d.empty || not (is_it x) then oldest_from d ring is_it (i + 1) (left - 1) else x

let oldest_such is_it d =
  let e = Atomic.get d.ends in
  let ring = Atomic.get d.slots in
  if fits ring e then oldest_from d ring is_it (top e) (size_of e) else d.empty
