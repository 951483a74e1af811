(* A work deque: the owner pushes and pops at the bottom, thieves steal at the top.

   It follows the idempotent work stealing of Michael, Vechev and Saraswat (PPoPP 2009). One word
   tells where both ends are; thieves change it by compare-and-set, the owner by plain stores. So
   the owner may undo a thief's step, and an entry may come to both of them. No harm: an entry may
   be stale anyway, and knows by itself whether it counts (Promise.claim). Their tags against words
   that come back (ABA) are not needed: a thief looks for the slot after it has changed the word.

   - [ends] is one word of two fields: [top], the index of the oldest entry modulo 2^28, and [size],
     the number of entries from there to the bottom.
   - [slots] is a ring. Slot [i land (length - 1)] holds the entry of index [i], or [empty]. Only
     the owner fills a slot. A thief that has moved [top] beyond index [i] takes the content of its
     slot by exchange.
   - [spare] slots from the bottom on, [most_spare] at most, hold popped entries, or nothing: the
     owner may overwrite them without a look, and empties those beyond.
   - What is in [own] is the owner's alone. Words that thieves read at every look must not share a
     cache line with it.

   No entry is lost. Until it is popped, or a thief has moved [top] beyond its index, it is in its
   slot and its index within the ends. That thief has yet to look into the slot, or has the entry.
   - The owner stores ends that it has computed from those it read; thieves may have moved [top]
     meanwhile. That brings back indices whose slots are empty, or about to be emptied. A thief that
     steals there finds nothing and goes on.
   - Nobody overwrites an entry that a thief is about to take. The owner fills a slot where it
     popped, or one that it has seen empty. A late thief gets the new entry there, out of turn.
   - The owner may show another ring ([rebuild]). It has the old one's slots that hold live entries,
     in their order, and empty ones. Entries that thieves are about to take are among them, and
     within the new ends. So a thief may use any ring that it reads after it has changed the word:
     it gets some entry out of turn, or none. The ring is shown first. A thief that changes the old
     ends after that has changed nothing, as the new ends come over them.
   - Ends that come back to values that a thief has read (ABA) are as good as those: they hold now.

   Nothing ended stays. An entry whose task has begun is not live any more. The owner drops that of
   a task which it has run in place, if it is at an end ([retire]). It empties the slots between live
   ones after [patience] pushes and one more for each live entry, or when it has left half as many.
   A full ring gives way to one with the live entries alone: a longer one if they fill half of it, a
   shorter one if there were few at many looks. ([peak] decays slowly, lest each burst pays.)

   Order. The slot is written before the ends, and the ends are read before the slot: a party that
   gets an entry sees what the owner did before the push. [push] stores the ends by an atomic write,
   so a publisher reads after it whether a worker sleeps or is missing (Sleep).

   A signal's handler or a finaliser may run where an operation allocates or a loop turns round, and
   push and pop too. No operation has such a point between reading the ends and storing them. (So it
   is in native code. Bytecode takes signals at each call.) *)

type 'a ring = 'a Atomic.t array

type 'a t = {
  empty : 'a;
  is_live : 'a -> bool;
  slots : 'a ring Atomic.t;
  ends : int Atomic.t;
  own : 'a own;
}

and 'a own = {
  mutable ring : 'a ring;  (** the one that [slots] shows to thieves *)
  mutable mask : int;  (** its length - 1 *)
  mutable spare : int;
  mutable stale : int;  (** entries that the owner has left since the last look *)
  mutable most_stale : int;
  mutable due : int;  (** pushes until the next look for stale entries *)
  mutable peak : int;  (** of the live entries at the last looks *)
  mutable turns : int;  (** pushes that were no plain ones *)
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
let most_spare = 8
let least_stale = 8

let create ~capacity ~is_live empty =
  let ring = Array.init capacity (fun _ -> Atomic.make empty) in
  let own =
    {
      ring;
      mask = capacity - 1;
      spare = 0;
      stale = 0;
      most_stale = least_stale;
      peak = 0;
      turns = 0;
      due = patience;
      narrowest = capacity;
    }
  in
  let ends = Compat.padded (Atomic.make 0) in
  { empty; is_live; slots = Atomic.make ring; ends; own = Compat.padded own }

let[@inline] slot ring i = Compat.atomic_at ring (i land (Array.length ring - 1))
let[@inline] own_slot own i = Compat.atomic_at own.ring (i land own.mask)
let[@inline] size d = size_of (Atomic.get d.ends)
let room d = d.own.mask + 1

(* Empties the slot if its entry is not live. *)
let[@inline] holds_live d slot =
  let x = Atomic.get slot in
  x != d.empty
  && (d.is_live x
     ||
     (Compat.store slot d.empty;
      false))

(* A longer one for the next pushes, or one that is half as long. *)
let fitting own ~live length =
  if live > length / 2 then 2 * length
  else if live < length / 8 && length > 4 * own.narrowest then length / 2
  else length

let resized d slots length =
  let more = length - Array.length slots in
  if length > field then raise Out_of_memory;
  if more <= 0 then Array.sub slots 0 length
  else Array.append slots (Array.init more (fun _ -> Atomic.make d.empty))

(* Lets the collector have the popped entries. *)
let rec sweep d =
  let own = d.own in
  if own.spare > 0 then begin
    own.spare <- own.spare - 1;
    Compat.store (own_slot own (bottom (Atomic.get d.ends) + own.spare)) d.empty;
    sweep d
  end

(* The slots of late thieves, which are those beyond the bottom, come first. A handler that
   interrupts this may push, pop, or show another ring itself: [due], [spare] and [turns] tell. Then
   this ring is left to the collector. *)
let rebuild ?(least = 0) d =
  sweep d;
  let own = d.own in
  let old = own.ring and turns = own.turns and due = own.due and e = Atomic.get d.ends in
  let length = Array.length old in
  let slots = Array.copy old and live = ref 0 and free = ref length in
  own.due <- 0;
  for i = 0 to length - 1 do
    let slot = slot old (bottom e + i) in
    if holds_live d slot then begin
      slots.(!live) <- slot;
      incr live
    end
    else begin
      decr free;
      slots.(!free) <- slot
    end
  done;
  let ring = resized d slots (Int.max least (fitting own ~live:(Int.max own.peak !live) length)) in
  if own.ring == old && own.turns = turns && own.spare = 0 then begin
    own.due <- due;
    own.ring <- ring;
    own.mask <- Array.length ring - 1;
    Atomic.set d.slots ring;
    Atomic.set d.ends (!live * one_entry)
  end

let move_in d =
  let least = 2 * d.own.narrowest in
  if Array.length d.own.ring < least then rebuild ~least d

(* The slots of the last entries that were popped keep these: they are written over more cheaply. *)
let[@inline] without_newest d e =
  let own = d.own in
  if own.spare < most_spare then own.spare <- own.spare + 1
  else Compat.store (own_slot own (bottom e - 1 + most_spare)) d.empty;
  Compat.store_int d.ends (e - one_entry)

let[@inline] counts d x = x != d.empty && d.is_live x

let rec trim_newest d =
  let e = Atomic.get d.ends in
  if size_of e > 0 && not (counts d (Atomic.get (own_slot d.own (bottom e - 1)))) then begin
    without_newest d e;
    trim_newest d
  end

let[@inline] drop_oldest d e =
  Compat.store (own_slot d.own (top e)) d.empty;
  Compat.store_int d.ends (without_oldest e)

let rec trim_oldest d =
  let e = Atomic.get d.ends in
  if size_of e > 0 && not (counts d (Atomic.get (own_slot d.own (top e)))) then begin
    drop_oldest d e;
    trim_oldest d
  end

let trim d =
  trim_newest d;
  trim_oldest d

let rec oldest_from d ring is_it i left =
  if left = 0 then d.empty
  else
    let x = Atomic.get (slot ring i) in
    if x == d.empty || not (is_it x) then oldest_from d ring is_it (i + 1) (left - 1) else x

(* It looks at the whole ring, for the ends may be those of another one. *)
let oldest_such is_it d =
  let ring = Atomic.get d.slots in
  oldest_from d ring is_it (top (Atomic.get d.ends)) (Array.length ring)

(* The number of live entries. *)
let rec clear_stale d i left ~live =
  if left = 0 then live
  else
    let live = live + Bool.to_int (holds_live d (own_slot d.own i)) in
    clear_stale d (i + 1) (left - 1) ~live

let look d =
  let own = d.own in
  sweep d;
  trim d;
  let e = Atomic.get d.ends in
  let live = clear_stale d (top e) (size_of e) ~live:0 in
  own.peak <- Int.max live (own.peak * 7 / 8);
  own.stale <- 0;
  own.most_stale <- least_stale + (live / 2);
  own.due <- patience + live;
  if fitting own ~live:own.peak (room d) < room d then rebuild d

let[@inline never] trim_more d =
  let before = size d in
  trim d;
  d.own.stale <- Int.max 0 (d.own.stale - before + size d)

let retire d x =
  let own = d.own and e = Atomic.get d.ends in
  let is_newest = size_of e > 0 && Atomic.get (own_slot own (bottom e - 1)) == x in
  if is_newest || (size_of e > 0 && Atomic.get (own_slot own (top e)) == x) then begin
    if is_newest then without_newest d e else drop_oldest d e;
    if own.stale > 0 then trim_more d
  end
  else begin
    own.stale <- own.stale + 1;
    if own.stale > own.most_stale then look d
  end

let rec push d x =
  let own = d.own and e = Atomic.get d.ends in
  let slot = own_slot own (bottom e) in
  if
    own.due > 0 && (own.spare > 0 || (size_of e <= own.mask && Atomic.get slot == d.empty))
  then begin
    own.due <- own.due - 1;
    own.spare <- Int.max 0 (own.spare - 1);
    Compat.store slot x;
    Atomic.set d.ends (e + one_entry)
  end
  else begin
    own.turns <- own.turns + 1;
    if own.due > 0 then rebuild d else look d;
    push d x
  end

let[@inline] peek d =
  let e = Atomic.get d.ends in
  if size_of e = 0 then d.empty else Atomic.get (own_slot d.own (bottom e - 1))

(* A thief that came late may have taken the newest entry and left others below it. *)
let rec pop d =
  let e = Atomic.get d.ends in
  if size_of e = 0 then d.empty
  else begin
    let x = Atomic.get (own_slot d.own (bottom e - 1)) in
    without_newest d e;
    if x != d.empty then x else pop d
  end

let[@inline] drop d x =
  let e = Atomic.get d.ends in
  if size_of e > 0 && Atomic.get (own_slot d.own (bottom e - 1)) == x then without_newest d e

(* {2 The thieves' end} *)

let rec steal d =
  let e = Atomic.get d.ends in
  if size_of e = 0 then d.empty
  else if Atomic.compare_and_set d.ends e (without_oldest e) then
    let x = Atomic.exchange (slot (Atomic.get d.slots) (top e)) d.empty in
    if x == d.empty then steal d else x
  else steal d

let is_empty d = size d = 0
