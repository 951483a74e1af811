(** A fiber: one sequence of calls, which may wait and go on in another domain.

    A task is one fiber, with all that it calls. {!Pool.run}'s function is another. Of [both] and
    of loops, what another worker takes over is a fiber of its own; the rest is the caller's. A
    caller of a pool is a fiber or a thread. A fiber holds locks, and is told of cancellations. *)

type t = Place.fiber

(** {2 Where the calling thread is} *)

val here : unit -> Place.t option
(** Its place, if it is in a pool. *)

val place : unit -> Place.t
(** The same for a thread that is in one. *)

val place_after : Place.t -> Place.t
(** Where the fiber is that was at that place before it ran user code. *)

val is_still_at : Place.t -> bool
(** Mostly whether it is there yet, and quicker than {!place_after}. *)

(** {2 What the calling fiber is a part of}

    That is a task, or the innermost scope around the code. *)

val context : Place.t -> Promise.any
(** Its promise; {!Place.uncancelled} if there is none. *)

val get : unit -> Promise.any
(** The same from anywhere. *)

val home : Place.t -> Promise.home
(** What the tasks get that it starts. *)

val carry : Place.t -> ('a -> 'b) -> 'a -> 'b
(** The function, which in another fiber will be a part of what the caller is a part of. *)

(** {2 Checkpoints} *)

val check : unit -> unit
(** {b Raises} [Cancelled] if the calling fiber is stopped, once. It looks at the clock, too. *)

val check_at : Place.t -> unit
(** The same for a worker that knows its place. One load, if nothing was ever stopped. *)

val check_if_any : unit -> unit
(** {!check_at} from anywhere. *)

val deliver_here : unit -> 'a
(** {b Raises} [Cancelled]: the calling fiber is told. *)

val note_checked : Place.t -> unit
(** It counts as having met a checkpoint. *)

val rethrow : Outcome.failure -> 'a
(** Raises what a branch of the calling fiber has raised. A cancellation was told for all of it. *)

val reraise : Outcome.failure Leftmost.t -> unit
(** {!rethrow} of the leftmost, if any. *)

val to_tell_again : unit -> unit -> unit
(** [let tell_again = to_tell_again () in …]: a cancellation that the code in between was told of is
    told again, after [tell_again ()]. *)

val raising : (unit -> Outcome.failure option) -> (unit -> 'a) -> 'a
(** [raising failure run] is [run ()], and raises [failure ()] afterwards if there is one. *)

val watch : unit -> exn -> bool
(** [let was_cancelled = watch () in …] before some code: [was_cancelled exn] is whether [exn],
    which the code raised, is the calling fiber's own cancellation. *)

(** {2 Switching, by the worker at that place} *)

val plain : Place.t -> handled:bool -> t
(** A new one on top of the worker's, which is a part of nothing. [handled]: its code will run
    under a handler of [Suspend]. *)

val make : Place.t -> handled:bool -> Promise.any -> Promise.home -> t
(** The same for a task with that promise and home. *)

val twin : Place.t -> handled:bool -> t
(** The same for a part of the worker's fiber, with its number. *)

val within : Place.t -> number:int -> part_of:Place.t option -> t
(** The same for the function of a caller, which comes from another pool or from none. *)

val switch : Place.t -> t -> unit
(** From now on the worker runs that one. *)

val put : Place.t -> t -> unit
(** The same before a checkpoint: it does not look whether the fiber was stopped. *)

val leave : t -> unit
(** It is suspended: the calling worker runs it no longer. *)

val resume : t -> unit
(** The calling worker goes on with it, on top of what it ran until then. *)

(** {2 Scopes} *)

type part = { of_ : Promise.any; tasks : Promise.home; met_checkpoint : bool }
(** What a fiber is a part of, what its tasks get, and whether it has met a checkpoint in there. *)

val part : Place.t -> part
val become : Place.t -> part -> unit

(** {2 Stopping} *)

val stop : 'a Promise.t -> unit
(** {!Promise.stop}, and all workers look at their next fork. *)

val stop_each : 'a Promise.t list -> unit
val note_stops : unit -> unit

val expect_deadline : unit -> unit
(** From now on a fiber that the clock may stop looks at it at its forks (Publish.hush). *)

(** {2 Locks} *)

val number : unit -> int
(** That of the calling fiber, or of a thread outside all pools. It is not 0, and no other's.

    {b Cost}: about 3 ns. *)

val spins : unit -> int
(** How many turns it is worth to look out for what another fiber is about to do, before one
    suspends; 0 where no other can run. *)
