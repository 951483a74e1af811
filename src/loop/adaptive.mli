(** Whether a loop is worth sharing: the one place that decides.

    The remembered cost of a function (Site) may be wrong for this call. So a loop that seems too
    short stays with its caller, which looks at the clock after 1, 3, 7, 15 … iterations, and at
    least every six microseconds. Once the rest is worth it, the rest is shared: before twice the
    iterations are done that were cheap. *)

(** {2 Ranges} *)

val span : int -> int -> int
(** The iterations after the first; [max_int] if they are more. *)

val length : int -> int -> int
(** All iterations of a range that is not empty; [max_int] if they are more. *)

(** {2 Below what was handed out}

    A worker whose offers nobody has taken yet is quiet: one word says so (Place), which a thief
    clears. So is one that is alone in its pool. Its loops begin quietly: between their first
    {!Tuning.max_unmeasured} iterations they look at that word ([Place.is_quiet]) and at no clock,
    as a fork does. So a loop below a loop that was handed out, or that nobody could help, costs
    what its plain twin costs. *)

val begins_quietly : int -> bool
(** By the code of iterations that are not remembered as dear. It may be a checkpoint. *)

(** {2 Decisions} *)

val is_shared_at_once : int -> n:int -> bool
(** [is_shared_at_once code ~n]: whether [n] iterations of the function with this code are shared
    before the first of them begins: the remembered cost says that they last, or nothing is
    remembered and they are few. *)

val holds_up : int -> n:int -> bool
(** [holds_up code ~n]: whether [n] iterations, run here, might hold up the loop of another
    scheduler, whose fiber calls. They might, unless they are remembered as short. *)

val in_pool : (unit -> 'a) -> 'a
(** Runs it as a task of the current pool, for such a fiber; as it is in a pool. *)

val beside_loop : int -> n:int -> (unit -> 'a) -> 'a
(** {!in_pool}, if it {!holds_up}. *)

val alone : ?min_rest:int -> int -> n:int -> (int -> int -> bool) -> int
(** [alone code ~n go] runs iterations [0] to [n - 1] on the caller, in growing chunks: [go k m]
    runs [m] of them from [k] on, and tells whether to go on. The result is the number of iterations
    that are done: less than [n] if the rest is worth sharing, that is if it lasts [min_rest] ticks
    (default {!Tuning.min_moved}), and [n] if [go] has ended it. It passes checkpoints. *)

(** {2 Trials}

    The same for work that cannot be called in chunks: a recursion, say. Its caller counts. *)

type trial

val start : ?min_rest:int -> ?seen:int -> int -> n:int -> trial
(** [start code ~n] begins to measure [n] iterations, of which [seen] (default 0) are done. *)

val pays : trial -> int -> bool
(** [pays t k], after [k] iterations in all, tells whether the others are worth sharing; their cost
    is remembered then. A checkpoint now and then, so it may raise. *)

val cost : trial -> int
(** The cost of an iteration (Site) as measured when {!pays} was last true. *)

val next : trial -> int
(** The iterations until {!pays} is to be called next. *)

val finish : ?all:int -> trial -> unit
(** Remembers what the iterations took that were measured; if none was, the time of [all]. *)

(** {2 Checkpoints} *)

val checkpoint : unit -> unit
(** Between two chunks: gives way if the worker has to leave, and raises if the caller is
    cancelled. *)
