(** The places of a pool, in which threads work. *)

type t = Slot.t
type pool = Slot.pool
type Promise.owner += Pool of pool

val none : Promise.any
(** Stands for no task. *)

val uncancelled : Promise.any
(** The context of code that no task's cancellation concerns. *)

val high : int
(** A deque with so many entries has enough for the thieves... *)

val low : int
(** ... and its owner hands out tasks again from so many on. *)

(** {2 Pools} *)

val make_pool : name:string -> Slot.settings -> pool
(** With its regular places, for one worker as yet. *)

val add_place : pool -> t array -> unit
(** One more for a caller that finds these taken; anybody may take it. *)

val open_pools : pool list Atomic.t

val is_watched : bool Atomic.t
(** Whether the watchdog's thread is there (Watchdog has the protocol). *)

val workers : pool -> t array

val count_places : pool -> (t -> bool) -> int

val set_size : pool -> int -> unit

val begun : pool -> int
(** Tasks and forks, as of each worker's last pause. *)

(** {2 Places} *)

val claim : t -> int -> bool
(** Takes a free place for that thread. Unbroken (Outcome). *)

val set_owner : t -> int -> unit
(** By the owner; 0: the place is free. *)

val is_taken : t -> bool

val is_caller : t -> bool
(** Whether a thread of the program's has the slot. *)

val helps : t -> bool
(** Whether a caller is there that takes tasks while it waits. *)

val has_helper : pool -> bool

val owned : t -> bool
(** By the calling thread. *)

val alone : t -> bool
(** Whether no other worker will come for its tasks. *)

val has_offered : t -> bool
(** By its owner: whether its newest entry is a branch of a fork or a loop that nobody has begun. *)

val publish_counts : t -> unit

(** {2 Where the calling thread works}

    Storage shows one place for all threads of a domain ({!current}); so a thread asks whether that
    is its own ({!owned}), or asks {!owned_place}, which looks further. Code in a pool asks
    [Fiber.place], and [Fiber.place_after] when user code has run, which may have moved. *)

val nobody : t
(** A thread outside all pools finds this one, which has no owner. *)

val here : t Compat.slot
val current : unit -> t
val index_in_state : int

val is_quiet : unit -> bool
(** Whether a fork runs in place. *)

val owned_place : unit -> t option
(** The calling thread's innermost place, if it has one. *)

val unshown : int Atomic.t
(** Callers in a pool while storage shows another thread's place, or none. *)

val all_shown : unit -> bool

val note_end : unit -> unit
(** Has the calling domain free its stacks at its end. 3 ns where it does already. *)

val exits : bool Atomic.t
(** Whether a task or a blocking call ends the program ([exit]). *)

val soon : (unit -> bool) -> bool
(** Whether that holds within 1 us or so, in which another worker, if there is one, may bring it
    about: before a sleep. *)

(** {2 What every checkpoint looks at} *)

val attention : int Atomic.t
(** Some of {!stops} (something was stopped, or has a deadline: from then on) and {!shortage} (some
    pool has fewer workers than it would like to have). *)

val stops : int
val shortage : int

val attend : int -> bool -> unit
(** Whether that reason holds. *)

val change : 'a Atomic.t -> ('a -> 'a) -> unit
(** Applies the function, again where another thread was faster. *)
