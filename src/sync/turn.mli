val below : int -> int
(** A number from 0 to [n - 1], any of them as often as another. Costs some nanoseconds and
    leaves the program's [Random] as it is. *)
