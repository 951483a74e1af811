(** The cost of an iteration of each loop body, as it was last measured: a direct-mapped table from
    the address of the closure's code to ticks, in fixed point. An entry is one word, key above and
    cost below, so it is read and written whole. Entries are hints: two bodies may share one, and
    writers overwrite each other. A wrong memory costs time, never an answer, and mends itself.

    A cost is in ticks for {!sample} iterations; a [code] is that of [Machine.code_of]. *)

val unknown : int
val sample : int

val cost : int -> int
(** [cost code] is what an iteration cost, or {!unknown}. *)

val estimate : int -> int -> int
(** [estimate cost n]: the ticks that [n] iterations take. A negative [n] has overflowed: the range
    is huge. *)

val fitting : int -> int -> int
(** [fitting ticks cost]: the iterations that last so long, at least 1; 1 if the cost is unknown. *)

val clock : int
(** The ticks that it takes to read the clock. *)

val cost_of : ticks:int -> iterations:int -> int

val remember : int -> int -> unit
(** [remember code cost]. *)

val learn : int -> ticks:int -> iterations:int -> int
(** The cost of the measured iterations; it is remembered if it is no more than half, or more than
    twice, of the cost before, since workers share the table. *)

val confirm : int -> int -> ticks:int -> iterations:int -> unit
(** [confirm code cost]: as {!learn}, if the remembered [cost] turned out wrong. *)

val timed : int -> int -> iterations:int -> (unit -> 'a) -> 'a
(** [timed code cost ~iterations f] is [f ()], measured, and {!confirm}s the remembered cost. *)
