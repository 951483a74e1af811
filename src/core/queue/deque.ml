(* A work deque: the owner pushes and pops at the bottom, thieves steal at the top.

   After the idempotent work stealing of Michael, Vechev and Saraswat (PPoPP 2009): one word tells
   where both ends are, thieves change it by compare-and-set, the owner by plain stores. So the
   owner may undo what a thief has just done to it, and an entry may come to both of them. No harm:
   an entry may be stale anyway, the truth is in the entry itself (see Promise.claim). Their finite
   tags, against words that come back (ABA), are not needed here, because a thief looks into the
   slot only after it has changed the word.

   [ends] one word of three fields. [top]: index of the oldest entry, modulo 2^28; [size]: entries
   from there to the
             bottom, where the owner pushes; [order]: log2 of the ring's length.
   [slots] a ring; slot [i land (length - 1)] holds the entry of index [i], or [empty]. Only the
   owner fills a slot. A
             thief that has moved [top] beyond index [i] takes what it finds in that slot, by
             exchange.
   [spare] so many slots from the bottom on hold what the owner popped, or nothing: it may overwrite
   them without
             a look. The owner's alone, as are [ring] (the one that [slots] shows) and [mask] (to
             find a slot in it): words that thieves read at every look must not share a cache line
             with them.

   No entry is lost. It is in its slot, and its index within the ends, until it is popped or a thief
   has moved [top] beyond it; and that thief has not yet looked into the slot, or has the entry.
   - The owner stores ends that it has computed from those it read; thieves may have moved [top]
     meanwhile. That brings indices back whose slots are empty, or about to be emptied. Whoever
     steals there finds nothing and goes on.
   - Nobody overwrites an entry that a thief is about to take. The owner fills a slot where it
     popped (then its entry was the owner's), or one that it has seen empty (then the thief has
     been there). Should another thief come late to that slot, because its index was back within the
     ends, then it has the new entry, out of turn.
   - Ends that come back to values that a thief has read (ABA) are as good as those: they tell of
     the same ring, since its order only grows, and what is in the slot now is what lies at that
     index now.

   Order. The slot is written before the ends, the ends are read before the slot: what the owner did
   before a push is visible to the party that gets the entry. [push] stores the ends by an atomic
   write, so a publisher that then reads whether a worker sleeps or is missing reads it behind its
   push (Sleep).

   A signal's handler or a finaliser may run in the midst of an operation where something is
   allocated or a loop turns round, and push and pop too. No operation has such a point between
   reading the ends and storing them, but [grow], which says what it does about it. (So it is in
   native code. Bytecode takes signals at each call.) *)

type 'a ring = 'a Atomic.t array

type 'a t = { empty : 'a; slots : 'a ring Atomic.t; ends : int Atomic.t; own : 'a own }

and 'a own = {
  mutable spare : int;
  mutable ring : 'a ring;  (** what [slots] shows to the thieves *)
  mutable mask : int;  (** its length - 1 *)
  mutable moving : bool;  (** from a ring to a wider one *)
  narrowest : int;  (** the first ring's length *)
}

(* {2 The word} *)

let bits = 28
let field = (1 lsl bits) - 1
let one_entry = 1 lsl bits
let make_ends ~top ~size ~order = top land field lor (size lsl bits) lor (order lsl (2 * bits))
let[@inline] top ends = ends land field
let[@inline] size_of ends = (ends lsr bits) land field
let[@inline] order ends = ends lsr (2 * bits)

(* Modulo the length of any ring: the other fields are multiples of it. *)
let[@inline] bottom ends = ends + (ends lsr bits)
let without_oldest e = make_ends ~top:(top e + 1) ~size:(size_of e - 1) ~order:(order e)

(* {2 Rings} *)

let ring n empty = Array.init n (fun _ -> Atomic.make empty)
let rec log2 n = if n = 1 then 0 else 1 + log2 (n / 2)

let create ~capacity empty =
  if capacity < 1 || capacity land (capacity - 1) <> 0 then
    invalid_arg (Printf.sprintf "Deque.create: capacity %d is not a power of 2" capacity);
  let ring = ring capacity empty in
  let ends = Compat.padded (Atomic.make (make_ends ~top:0 ~size:0 ~order:(log2 capacity))) in
  let mask = capacity - 1 and narrowest = capacity in
  let own = Compat.padded { spare = 0; ring; mask; moving = false; narrowest } in
  { empty; slots = Atomic.make ring; ends; own }

let[@inline] slot ring i = Compat.atomic_at ring (i land (Array.length ring - 1))

(* {2 The owner's end} *)

let[@inline] own_slot own i = Compat.atomic_at own.ring (i land own.mask)
let[@inline] size d = size_of (Atomic.get d.ends)

let show d ring =
  d.own.ring <- ring;
  d.own.mask <- Array.length ring - 1;
  Atomic.set d.slots ring

(* Moves each entry by emptying its old slot, so that it comes to one thief only. [next]: for who
   goes on where an exception has cut it short. *)
let rec move d old next last =
  if !next <= last then begin
    Atomic.set (own_slot d.own !next) (Atomic.exchange (slot old !next) d.empty);
    incr next;
    move d old next last
  end

(* From here on thieves may use the new ring. The entries that they took since [first] was the
   oldest are back within the ends, as [move] may have had it before them. *)
let settle d first =
  let e = Atomic.get d.ends in
  let size = (top e + size_of e - first) land field and order = log2 (Array.length d.own.ring) in
  d.own.moving <- false;
  Atomic.set d.ends (make_ends ~top:first ~size ~order)

(* The ring is shown first, of another order than the ends tell, so thieves take nothing from it.
   A signal's handler or a finaliser that pushes meanwhile finds room in it; what is not moved yet
   is hidden from it. Should it have to grow that one in turn, the rest goes to the newest, which
   the outermost call settles. If a handler raises, the other entries are moved first. *)
let grow d =
  let own = d.own and next = ref 0 in
  if Array.length own.ring > field / 2 then raise Out_of_memory;
  let wide = ring (2 * Array.length own.ring) d.empty in
  let old = own.ring and e = Atomic.get d.ends in
  if Array.length old < Array.length wide then begin
    let first = top e and outermost = not own.moving in
    let last = first + size_of e - 1 in
    next := first;
    own.moving <- true;
    own.spare <- 0;
    show d wide;
    match move d old next last with
    | () -> if outermost then settle d first
    | exception exn ->
      move d old next last;
      if outermost then settle d first;
      raise exn
  end

(* A wider ring, not another one: a thief that has read the ends long ago would take the old for
   it. *)
let move_in d = if Array.length d.own.ring = d.own.narrowest then grow d

let rec push d x =
  let own = d.own and e = Atomic.get d.ends in
  let slot = own_slot own (bottom e) in
  if own.spare > 0 then begin
    own.spare <- own.spare - 1;
    Compat.store slot x;
    Atomic.set d.ends (e + one_entry)
  end
  else if size_of e <= own.mask && Atomic.get slot == d.empty then begin
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
  else if size_of e = 0 || d.own.moving then x
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

let oldest d = oldest_such (fun _ -> true) d
