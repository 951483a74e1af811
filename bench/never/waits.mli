(** Tasks beside a caller that waits: whether each CPU gets some. *)

type wait

val waits : (string * wait) list

val run : wait -> rounds:int -> Figures.t
(** [rounds] measurements of some tasks in a row (["sequential"]) and as tasks (["parallel"]), in
    turn, in nanoseconds. *)
