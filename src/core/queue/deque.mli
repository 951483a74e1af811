(** A work-stealing deque. A thief can receive an entry that the owner has popped, so each entry
    must know whether it still counts. Up to 2^27 entries; one more raises [Out_of_memory]. *)

type 'a t

val create : capacity:int -> is_live:('a -> bool) -> 'a -> 'a t
(** [create ~capacity ~is_live empty] begins with [capacity] slots, a power of 2. [empty] is never
    pushed: it stands for "nothing" in results (compared physically), so that none allocates. An
    entry that is not live counts no more, and never will. [is_live] allocates nothing and has no
    loop. *)

(** {2 Owner only} *)

val move_in : 'a t -> unit
(** Gives a deque that has not grown slots from the owner's own heap. *)

val push : 'a t -> 'a -> unit
(** Puts an entry at the bottom. Its thief sees the owner's earlier writes. *)

val pop : 'a t -> 'a
(** Takes the newest entry back, without a fence. *)

val peek : 'a t -> 'a
(** The newest entry. *)

val drop : 'a t -> 'a -> unit
(** Pops that entry if it is the newest. *)

val trim : 'a t -> unit
(** Drops entries at both ends until one is live. *)

val sweep : 'a t -> unit
(** Lets the collector have the popped entries. *)

val retire : 'a t -> 'a -> unit
(** {!drop}s an entry that has become stale, or trims. It may lie between live ones, from where it
    goes after some more of these calls, or pushes. *)

val each_oldest_first : ('a -> bool) -> ('a -> unit) -> 'a t -> unit
(** [each_oldest_first is_it f d] calls [f] with the newest live entries, back to the first of which
    [is_it] is false, and with the oldest of these first. [f] may push, pop and retire. *)

val size : 'a t -> int
(** Counts stale entries, and for a moment some that thieves have taken. *)

(** {2 Anyone} *)

val steal : 'a t -> 'a
(** Takes the oldest entry. *)

val is_empty : 'a t -> bool
(** Whether a thief would find nothing at this moment. *)

val oldest_such : ('a -> bool) -> 'a t -> 'a
(** The oldest entry of which that is true. *)
