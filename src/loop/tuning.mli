(** Every threshold of the loops, the collections, the kernels and Domainslib's loops, each with its
    unit, its reason and the measurement behind it. Times are in ticks (Machine.ticks). *)

(** {2 Sharing} *)

val min_shared : int
(** The least work that is shared. On a machine whose CPUs are far from each other (a virtual one,
    where a wake takes 20 us) a loop of 10 us of which one iteration is half ran 1.2 times as long
    when it was shared. *)

val min_moved : int
(** The least work that a caller who runs it alone gives away after all. *)

val min_waking : int
(** The least work for which a sleeping worker is woken. On that machine a loop of 50 us after a
    pause ran 1.35 times as long when it was shared. *)

val chunk : int
(** How long a chunk lasts: 1 % of it is some five looks around. *)

val coarse : int
(** A chunk that lasts so long is no longer cut. *)

val window : int
(** So long may loops that begin after one another count as one: by then a worker that was woken for
    them has come. *)

(** {2 Looks at the clock} *)

val max_extrapolation : int
(** How many times as long as the measured part the rest may be believed to last: one iteration of
    many may be long by chance. *)

val between_looks : int
(** Chunks double until one lasts so long. A look takes 10 to 25 ns. *)

val max_unmeasured : int
(** At most so many iterations are run without a clock by a worker that has offered enough. *)

val quiet_chunk : int
(** Of these, so many between two looks at its word, where iterations come in chunks. *)

val between_checkpoints : int
(** The least time between two checkpoints of a loop that stays with its caller. *)

(** {2 Counts of iterations} *)

val few_unknown : int
(** So few of unknown cost are shared at once, as each may be a job of its own; of more, the caller
    tries the first. *)

val first_of_search : int
(** The caller of a search looks at so many before it asks others: the search may end there. *)

val growth : int
(** A chunk is at most so many times as long as the one before: the remembered cost may be a poor
    guess for the rest. *)

val leaves : int
(** The most leaves of a reduction whose caller gives no grain. *)

val few_parts : int
(** A short range of a loop over parts has so many, or one for each index: each may be a job of its
    own, for 16 workers, say. A fold with an accumulator for each part has no more, since to combine
    two tables may cost as much as to fill one. *)

val shortest_part : int
(** Parts grow to so many indices before their number does: a part costs 5 to 10 ns, an index of a
    cheap loop 0.5 to 1. *)

(** {2 Teams} *)

val min_region : int
(** More than a region costs; and a wake-up for each worker that sleeps. *)

val min_region_waking : int

val min_stolen : int
(** Shorter work is not worth a thief's trip. *)

val units_each : int
(** Units of each worker: not so many that the last ones keep others waiting. *)

val first_block : int
(** Indices before the first look of a slice. *)

val first_touch : int
(** Elements of an array whose memory all workers touch first. Half a megabyte: some 100 us for one
    worker, where a region takes a few, or 25 for each worker that sleeps. *)

val short_result : int
(** Of a result so short, each element may be a job of its own. Two such arrays cost less than the
    shortest loop that is shared. *)

val blocks : int
(** The blocks of a scan, and of groups, at most. *)

val shortest_leaf : int
(** Elements of a leaf of a fold, at least: it is a loop, and a branch of the tree costs as much as
    some turns of it. *)

val seq_part : int
(** The elements of such a part of a sequence, whose length nobody knows: a block of it has 2 to 16
    parts. *)

val seq_run : int
(** The elements of a sequence whose values are combined one after the other: each may be a job, and
    a branch of the tree costs as much as some turns of a loop. *)

val insertion : int
(** Ranges of this length are sorted by insertion; runs of this length are merged without a cut. *)

val longest_merge : int

val first_room : int
(** The elements for which there is room at first, where there may be a few of many. *)

val one_block : int
(** Longer arrays are scanned in blocks, with two calls of the operation for each element. *)

(** {2 Lists} *)

val walk : int
(** The ticks of 16 elements (Site) up to which a function is left to the walk's caller: 5 ns each.
    To walk past one takes 1 to 2 ns in caches. *)

val walks : int
(** So many times as long as the walk past an element, as measured, must a function take: to others
    the cells come from this worker's cache, or from memory. *)

val long_comparison : int
(** A list whose first comparison takes longer is sorted as an array, which can be shared. *)

val worth_a_block : int
(** Elements of a sequence that take longer are worth to be read in blocks. *)

val longest_piece : int
(** Elements of a piece, or of a block of a sequence: longer ones would do the caches no good. *)

val first_pieces : int
(** Pieces of a list's first block. *)

(** {2 Kernels} *)

val long_body : int
(** A C body of so long runs without the domain lock: a collection beside one of 10 ms waits 0.04 ms
    then, and not 10. An empty region takes 590 ns without the lock, and 200 with it. *)
