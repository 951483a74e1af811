(** The verdict in words. *)

val lines : Rules.run -> string list
(** What [muster why] prints: the time and the CPUs used, the main cause with its number and what to
    try, the others, and how sure all that is. *)

val larger_rings : string
(** What to try where events were lost. *)
