(* A work deque: the owner pushes and pops at the bottom, thieves steal at the top.

   Shape after Java's ForkJoinPool (Lea, "A Java fork/join framework", 2000, and its later
   slot-claiming deques) and idempotent work stealing (Michael, Vechev and Saraswat, PPoPP
   2009): the slots decide who gets an entry, no index does, and an entry may be stale. The
   truth is in the entry itself (see Promise.claim), which lets the owner give up an entry
   without telling anybody: a pop is two loads and a private store.

   [slots]   a ring; slot [i land mask] holds the entry of index [i] or [empty]. Only the owner
             fills a slot. A thief empties it by compare-and-set, and then has the entry. An
             entry is pushed once in its life, and is in sight at one index only: a thief that
             was held up since it read one cannot take it for a later one (ABA).
   [top]     index of the oldest entry. It only grows, by one, moved by the thief that emptied
             that slot; so an index is never stolen twice.
   [bottom]  the owner's next index.
   [dirty]   slots in [bottom, dirty) may still hold entries that the owner popped.
   [ring]    the ring that [slots] shows, and [mask] to find a slot in it.

   [bottom], [dirty], [ring] and [mask] are the owner's alone, in a record of their own: what
   thieves read at every look must not share a cache line with what the owner writes at every
   push.

   Invariants: bottom <= dirty <= top + capacity; slots outside [top, dirty) are empty, but for
   the moment between a thief's two steps. [bottom < top] can happen: thieves steal stale
   entries too. The owner notices when it pushes (below [dirty] it replaces the stale entry by
   compare-and-set) and goes on above what was stolen. Below [dirty] there is room, by the
   first invariant, so the usual push looks at nothing that thieves write but the slot.

   A thief that stalls between its two steps hides the entries above from other thieves, not
   from the owner; when it goes on it wakes somebody for them (Find.steal). *)

type 'a ring = 'a Atomic.t array

type 'a t = { empty : 'a; slots : 'a ring Atomic.t; top : int Atomic.t; own : 'a own }

and 'a own = {
  mutable bottom : int;
  mutable dirty : int;
  mutable ring : 'a ring;  (** what [slots] shows to the thieves *)
  mutable mask : int;  (** its length - 1 *)
}

let ring n empty = Array.init n (fun _ -> Atomic.make empty)

let create ~capacity empty =
  if capacity < 1 || capacity land (capacity - 1) <> 0 then
    invalid_arg (Printf.sprintf "Deque.create: capacity %d is not a power of 2" capacity);
  let ring = ring capacity empty in
  let top = Compat.padded (Atomic.make 0) in
  let own = Compat.padded { bottom = 0; dirty = 0; ring; mask = capacity - 1 } in
  { empty; slots = Atomic.make ring; top; own }

let[@inline] slot ring i = Compat.atomic_at ring (i land (Array.length ring - 1))

(* {2 The owner's end} *)

let[@inline] own_slot own i = Compat.atomic_at own.ring (i land own.mask)
let[@inline] size d = Int.max 0 (d.own.bottom - Atomic.get d.top)

let show d ring =
  d.own.ring <- ring;
  d.own.mask <- Array.length ring - 1;
  Atomic.set d.slots ring

let move_in d = if d.own.dirty = 0 then show d (ring (Array.length d.own.ring) d.empty)

(* Moves each entry by emptying its old slot, so that a thief gets it from one ring only.
   Stale entries stay behind.

   A signal's handler or a finaliser may run in here (allocation, loop) and push too: it finds the
   new ring with room, and what is not moved yet is hidden from it. Should it have to grow that
   one in turn, the rest goes to the newest. If a handler raises, what is left is moved first. *)
let rec move d old next last =
  if !next <= last then begin
    Atomic.set (own_slot d.own !next) (Atomic.exchange (slot old !next) d.empty);
    incr next;
    move d old next last
  end

let grow d =
  let own = d.own in
  let wide = ring (2 * Array.length own.ring) d.empty in
  let old = own.ring in
  if Array.length old < Array.length wide then begin
    let next = ref (Atomic.get d.top) and last = own.bottom - 1 in
    own.dirty <- own.bottom;
    show d wide;
    match move d old next last with
    | () -> ()
    | exception exn ->
      move d old next last;
      raise exn
  end

(* For an index below [dirty]: its slot holds a popped entry, or has been stolen. *)
let[@inline] replace_popped d b x =
  let slot = own_slot d.own b in
  let popped = Atomic.get slot in
  popped != d.empty && Atomic.compare_and_set slot popped x

let rec push_slowly d x =
  let own = d.own in
  let b = own.bottom in
  if b < own.dirty then
    if replace_popped d b x then own.bottom <- b + 1
    else begin
      (* Index [b] has been stolen: no thief will look there again. *)
      own.bottom <- Int.max (b + 1) (Atomic.get d.top);
      own.dirty <- Int.max own.dirty own.bottom;
      push_slowly d x
    end
  else if b - Atomic.get d.top < Array.length own.ring then begin
    Atomic.set (own_slot own b) x;
    own.dirty <- b + 1;
    own.bottom <- b + 1
  end
  else begin
    grow d;
    push_slowly d x
  end

let[@inline] push d x =
  let b = d.own.bottom in
  if b < d.own.dirty && replace_popped d b x then d.own.bottom <- b + 1 else push_slowly d x

let[@inline] peek d =
  let b = d.own.bottom - 1 in
  if b < Atomic.get d.top then d.empty else Atomic.get (own_slot d.own b)

let[@inline] forget d = d.own.bottom <- d.own.bottom - 1

let pop d =
  let x = peek d in
  if x != d.empty then forget d;
  x

let[@inline] drop d x = if peek d == x then forget d

(* Forget stale entries, the newest first. One that is missing was stolen, and so were all
   below it. *)
let rec sweep d =
  if d.own.dirty > d.own.bottom then begin
    let i = d.own.dirty - 1 in
    if i >= Atomic.get d.top && Atomic.exchange (own_slot d.own i) d.empty != d.empty then (
      d.own.dirty <- i;
      sweep d)
    else d.own.bottom <- d.own.dirty
  end

(* {2 The thieves' end} *)

let rec steal d =
  let top = Atomic.get d.top in
  let slot = slot (Atomic.get d.slots) top in
  let x = Atomic.get slot in
  if x == d.empty then x
  else if Atomic.get d.top <> top then steal d
    (* [x] may have been of a later round of the ring; now it is of index [top], which only
       grows *)
  else if Atomic.compare_and_set slot x d.empty then begin
    Atomic.set d.top (top + 1);
    x
  end
  else steal d

let oldest d = Atomic.get (slot (Atomic.get d.slots) (Atomic.get d.top))
let is_empty d = oldest d == d.empty
