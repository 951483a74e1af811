(** A work-stealing deque whose entries may be stale: a thief can receive an entry that the
    owner has popped. The entries themselves must know whether they still count. Up to 2^27 entries;
    more raise [Out_of_memory]. *)

type 'a t

val create : capacity:int -> 'a -> 'a t
(** [create ~capacity empty]: grows on demand from [capacity] slots, a power of 2. [empty] is
    never pushed; it stands for "nothing" in all results (compared physically), so that no
    operation allocates. 3 words a slot. *)

(** {2 Owner only} *)

val move_in : 'a t -> unit
(** Gives a deque that has not grown twice as many slots, from the heap of the owner's domain, on
    cache lines that no other domain's small blocks share. *)

val push : 'a t -> 'a -> unit
(** Puts an entry at the bottom. One atomic write. What the owner did before is visible to the
    thief that receives the entry. *)

val pop : 'a t -> 'a
(** Takes the newest entry back, or [empty]. Two loads and a plain store: a thief may receive the
    entry too. *)

val peek : 'a t -> 'a
(** The newest entry, or [empty]. *)

val drop : 'a t -> 'a -> unit
(** Pops that entry if it is the newest. *)

val size : 'a t -> int
(** Entries between the ends; stale ones count, and for a moment some that thieves have taken. *)

val drop_stale : 'a t -> is_live:('a -> bool) -> unit
(** Pops the newest entries until one is live. [is_live] allocates nothing and has no loop. *)

val sweep : 'a t -> unit
(** Lets go of entries that were popped, so that they can be collected. *)

(** {2 Anyone} *)

val steal : 'a t -> 'a
(** Takes the oldest entry, or [empty]. *)

val is_empty : 'a t -> bool
(** Whether a thief would find nothing at this moment. *)

val oldest : 'a t -> 'a
(** What {!steal} would take, or [empty]. *)

val oldest_such : ('a -> bool) -> 'a t -> 'a
(** The oldest entry that is such a one, or [empty]. *)
