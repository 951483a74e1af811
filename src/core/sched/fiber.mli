(** A fiber: one sequence of calls, which may wait and go on in another domain.

    A task is a fiber, with all that it calls. So is the function of a caller. A branch of [both] or
    of a loop that another worker takes over is a fiber of its own; the rest is the caller's. A
    fiber holds locks, and is told of cancellations. *)

type t = Slot.fiber

(** {2 Where the calling thread is} *)

val place : unit -> Place.t
val place_after : Place.t -> Place.t
(** [place ()] is that of a thread that is in a pool; [place_after w] where the fiber is that was at
    [w] before it ran user code. *)

(** {2 What the calling fiber is a part of: a task, or the innermost scope around the code} *)

val mine : unit -> t
(** The calling fiber. A thread outside all pools has nobody's, a part of nothing. *)

val get : unit -> Promise.any
(** Its promise; {!Place.uncancelled} if there is none. *)

val context : Place.t -> Promise.any
(** The same for a worker that knows its place. *)

val home : Place.t -> Promise.home
(** That of the tasks which it starts. *)

val home_of : Place.pool -> Promise.lineage -> Promise.local list -> Promise.home
(** That of tasks in the pool which stop with those scopes, and inherit those values. *)

val locals : unit -> Promise.local list
(** The values of the calling fiber, or of a thread outside. *)

val set_outside : Promise.local list -> unit
val with_outside : Promise.local list -> (unit -> 'a) -> 'a
(** Changes those of a caller outside; the second one while the function runs. *)

val inherit_here : (unit -> 'a) -> unit -> 'a
val moving : (unit -> 'a) -> unit -> 'a
(** The function, for a caller outside, with the values of now. The second keeps the number, too. *)

val is_elsewhere : unit -> bool
(** Whether the caller is outside all pools, in a domain of another scheduler's. 10 ns. *)

val carry : Place.t -> ('a -> 'b) -> 'a -> 'b
(** The function, which in another fiber will be a part of the same. *)

val branch : Place.t -> is_vain:bool Atomic.t -> (unit -> 'a) -> 'a Promise.t
(** A task that runs the function so; its maker looks at the result. *)

val end_in_vain : bool Atomic.t -> (unit -> unit) -> unit
(** Waits for the end of the branch that has that word, of which nobody wants the result. *)

val is_in_vain : Place.t -> bool
(** Whether nobody wants the result of the branch that runs there: it gets no help. *)

type part = { of_ : Promise.any; tasks : Promise.home; met_checkpoint : bool }
(** The context, the home, and whether the fiber has met a checkpoint in there. *)

val part : Place.t -> part
val part_of : t -> part
val become : Place.t -> part -> unit

val put_back : part -> unit -> unit
(** {!become}, wherever the fiber is by now, and whatever strikes. *)

val in_call : Place.t -> (Place.t -> 'a) -> 'a
(** [in_call w f] is [f w], which may run branches. Ctrl-C in one of them stops the others. *)

val stop_branches : unit -> unit
(** Stops the branches beside this one, as an exception struck here. *)

val give_up : unit -> unit
(** A second Ctrl-C has ended a wait of the calling fiber's. *)

val has_given_up : unit -> bool
(** Whether one has, since the fiber's last fork or scope. *)

val wait_again : Place.t -> unit
(** The fiber opens a scope. *)

val caught : exn -> Outcome.failure
(** As [Outcome.caught], of a branch: Ctrl-C stops the others. *)

(** {2 Checkpoints} *)

val check : unit -> unit
(** Raises [Cancelled], once, if the calling fiber is stopped. One load, if no fiber was ever. *)

val check_at : Place.t -> unit
(** The same for a worker that knows its place. *)

val deliver_here : unit -> 'a
(** Raises [Cancelled]: the calling fiber is told. *)

val be_told_no_more : unit -> unit
(** From now on the calling fiber is a part of nothing, and so is a handler that interrupts it. *)

val own_hook : t -> Entries.entry
(** An entry for one wait of the fiber, which lets it rest when that is over. *)

val heed_stop : t -> Entries.entry -> (unit -> unit) -> unit
(** From now on the fiber's stop calls the function, at once if it has come. *)

val note_checked : Place.t -> unit
(** The fiber counts as having met a checkpoint. *)

val rethrow : Outcome.failure -> 'a
(** Raises the exception of a branch of the calling fiber. A cancellation was told for all of it. *)

val reraise : Outcome.failure Leftmost.t -> unit
(** {!rethrow} of the leftmost, if any. *)

val raising : (unit -> Outcome.failure option) -> (unit -> 'a) -> 'a
(** [raising failure run] is [run ()], and raises [failure ()] afterwards if there is one. *)

val to_tell_again : unit -> unit -> unit
(** [to_tell_again ()] before some code is a function for after it: the calling fiber will be told
    again of a cancellation that this code was told of. *)

val watch : unit -> exn -> bool
(** [watch ()] before some code is a function for after it: whether an exception of this code is the
    calling fiber's own cancellation. *)

(** {2 Switching, by the worker at that place} *)

(** A new fiber lies on top of the worker's. Its code runs under a handler of [Suspend], unless it
    is not [handled]. *)

val plain : Place.t -> handled:bool -> t
(** A part of nothing. *)

val make : Place.t -> Promise.any -> Promise.home -> t
(** A task with that promise and home. *)

val within : Place.t -> number:int -> part_of:Place.t option -> t
(** Code with that number, such as a caller's: a part of the fiber at that place, if any. *)

val switch : Place.t -> t -> unit
(** From now on the worker runs that one. *)

val put : Place.t -> t -> unit
(** The same before a checkpoint: it does not look whether the fiber was stopped. *)

val leave : t -> unit
(** It is suspended: the calling worker runs it no longer. *)

val resume : t -> unit
(** The calling worker goes on with it, on top of the fiber that it ran until then. *)

(** {2 Stopping} *)

val stop : 'a Promise.t -> unit
(** [Promise.stop], and all workers look at their next fork. *)

val stop_each : 'a Promise.t list -> unit

val have_all_look : unit -> unit
(** From now on each checkpoint looks whether something was stopped or struck, and each fork of a
    fiber that the clock may stop (Publish.hush). *)

val strike : Slot.call -> Outcome.failure -> bool
(** By a caller's thread, when an exception has struck it: the fiber raises that where it waits
    (Run), or at its next checkpoint. False while the fiber has yet to raise an earlier one. *)

val take_strike : Slot.call -> Outcome.failure option

(** {2 Locks} *)

val number : unit -> int
(** That of the calling fiber, which may be another scheduler's, or of a thread outside all pools:
    not 0, and no other's. 3 ns. *)

val take_number : Place.t -> int -> unit
(** The worker's fiber is a task that stands for the caller with that number. *)

val leave_behind : 'a Promise.t -> int -> unit
(** The fiber with that number stops the task, which may go on with it, and leaves. *)

val is_me : int -> bool
(** Whether it is the caller's {!number}, and no other's that was left behind. *)

(** {2 Traced tasks} *)

val traced : code:int -> ('a -> 'b) -> 'a -> 'b
(** The function of a task that is handed out now, which tells its beginning and its end while a
    program traces this one. [code]: of the code that names it; 0: of the function itself;
    [Trace.by_place]: none, but the place of the call does. *)
