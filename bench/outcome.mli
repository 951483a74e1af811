(** What an experiment came to. *)

type t = { experiment : Experiment.t; samples : (Experiment.who * Measure.sample) list }

val run : repeat:int -> Experiment.t -> t
(** [run ~repeat e] runs the contenders of [e] in turn, and says where it is if stderr is
    a terminal. A contender that fails is reported and has no figure there. *)

val sample : t -> Experiment.who -> Measure.sample option

val failed : t -> bool
(** [failed o] is whether a contender raised. *)

val speed_up : t -> over:Experiment.who -> Measure.sample -> float option
(** How many times less the sample's minimum is than that of [over]. *)

type verdict = {
  bar : Experiment.bar;
  got : (float * float) option;
      (** The bar's ratio (or cost) between the minima, and the median of the rounds'.
          [None] if one of the two was not measured. *)
  passed : bool option;  (** By the minima. *)
}

val verdicts : t -> verdict list
