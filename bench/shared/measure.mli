(** Repeated measurements, taken in turn.

    The speed of a shared machine drifts by more than the differences that matter here. So
    no contender is measured on its own: every round runs each of them once, one after the
    other, and two of them are compared by what they took in the same rounds. Every second round goes back
    through the list, so that none is always the first on several CPUs after others on one. *)

type sample
(** What one contender took in every round; a round in which it failed is [nan]. *)

val in_turn : repeat:int -> (round:int -> 'a -> float) -> 'a list -> ('a * sample) list
(** [in_turn ~repeat run contenders] calls [run ~round c] for every contender [c] in every
    round, round after round, in turn from the first to the last and from the last to the first. *)

val of_runs : float list -> sample
(** [of_runs values] is a sample with these values. *)

val runs : sample -> float list
(** [runs s] is one value for each round. *)

val minimum : sample -> float
(** [minimum s] is the smallest value, [nan] if a round failed. *)

val median : sample -> float
(** [median s] is the middle value, [nan] if a round failed. *)

val median_ratio : sample -> sample -> float
(** [median_ratio a b] is the median over the rounds of [a]'s value divided by [b]'s. *)

val per_call : budget:float -> (unit -> unit) -> float
(** [per_call ~budget f] is the time of one [f ()] in nanoseconds: the mean over a batch
    of calls back to back, which doubles until it takes [budget] nanoseconds. *)
