(** Busy processes beside the programs. Each ends by itself, soon after its parent did or
    when its time is up. *)

type shift = { every : float; index : int; count : int }
(** That of one of [count] processes, by its [index]: [every] so many seconds one of them
    comes or goes. *)

val busy : ?shift:shift -> seconds:float -> unit -> unit
(** What a neighbour does: it keeps a CPU busy for [seconds], or its share of them. *)

val beside : ?every:float -> int -> (unit -> 'a) -> 'a
(** [beside n f] is [f ()] beside [n] of them, always busy or in shifts.

    {b Raises} [Failure] if they were not there to the end. *)
