(** What a pool costs that has nothing to do. Each function starts the default pool and
    has all its workers work first; the figures are nanoseconds. *)

val cpu_of_pool : seconds:float -> Figures.t
(** ["time"] is the CPU time that the process uses while the main program sleeps. *)

val cpu_of_await : seconds:float -> Figures.t
(** The same while the main program awaits a task that sleeps. *)

val first_region : after:float -> times:int -> Figures.t
(** ["time"] is what [Team.broadcast] took after so many seconds of idleness, as often as
    asked. It needs every worker. *)

val phase : Phase.t -> Figures.t
(** ["time"] is that of the sequential phase after a parallel one. *)
