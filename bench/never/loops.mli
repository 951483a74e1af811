(** Loops that are too short to gain, or just long enough. Each function takes [rounds]
    measurements of the plain loop (["sequential"]) and of Muster's (["parallel"]), in
    turn, in nanoseconds a loop. *)

type caller = Main | Task

val callers : (string * caller) list

val tiny : caller -> iterations:int -> rounds:int -> Figures.t
(** Loops of trivial iterations, called by the main program or by a task. *)

type body =
  | Even  (** All iterations take the same time. *)
  | Growing  (** The later, the longer. *)
  | Lopsided  (** The last takes half the time of the loop. *)
  | Seldom  (** Even ones, with a pause between two loops in which workers fall asleep. *)

val bodies : (string * body) list

val sweep : body -> microseconds:int -> rounds:int -> Figures.t
(** Loops of 64 iterations that take about so long on one CPU. *)
