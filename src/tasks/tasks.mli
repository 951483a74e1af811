(** Calls of Muster.Task that need no more of the core than its interfaces. Muster.Task says what
    each does. *)

type 'a t = 'a Task.t

val is_done : 'a t -> bool
val peek : 'a t -> ('a, exn) result option
val any : 'a t list -> 'a
val sleep : float -> unit
val yield : unit -> unit
val protect : (unit -> 'a) -> 'a
val bracket : acquire:(unit -> 'r) -> release:('r -> unit) -> ('r -> 'a) -> 'a
