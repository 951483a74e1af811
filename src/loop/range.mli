(** Ranges of indices that several workers sweep, in any order.

    A range is run in chunks that last about {!Tuning.chunk}. Between two chunks the worker looks
    whether its deque is empty, that is whether the half it handed out last has been stolen, and if
    so hands out half of the rest (lazy splitting: Tzannes, Caragea, Barua and Vishkin, PPoPP
    2010). No timer, and no clock inside a chunk.

    Lazy splitting looks once a chunk, which is too seldom where a chunk is one long iteration: the
    iterations behind it would wait for it. So coarse iterations are all handed out before the first
    one begins, by halves: the largest are stolen first. *)

val share :
  code:int ->
  grain:int ->
  (int -> int -> 'a option) ->
  ('a, Outcome.failure) result Leftmost.t ->
  int ->
  int ->
  unit
(** [share ~code ~grain body first lo hi] sweeps [lo] to [hi] with all workers that are free. [body]
    runs a chunk, bounds included; its find or failure is noted in [first], and no chunk right of
    that begins. The cost of an iteration is remembered under [code] (Site). Parts of fewer than
    [grain] iterations are not cut. *)

(** {2 For loops that cut their work themselves} *)

val is_coarse : int -> int -> bool
(** [is_coarse cost n]: whether [n] iterations of that cost last too long to be a chunk. *)

val may_offer : Place.t -> whole:bool -> bool
(** Whether to hand out half of the rest. [whole]: it is a part of a coarse loop that was handed
    out, and none of it has begun. *)

val is_worth_waking : int -> int -> whole:bool -> bool
(** [is_worth_waking rest cost ~whole]: whether a sleeping worker is woken for work that lasts
    [rest] ticks. *)

val wake_for_row : Place.t -> int -> unit
(** Notes that a loop of so many ticks begins: many short ones in a row wake a worker. *)
