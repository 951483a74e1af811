(** A loop of Eio that does things for others. *)

exception Ended

type t

type request = {
  start : Eio.Switch.t -> unit;  (** called by a fiber of the loop; it must not wait *)
  refuse : unit -> unit;  (** called where the loop has ended *)
}

val create : unit -> t
(** A loop that nobody serves yet: requests wait. *)

val serve : t -> sw:Eio.Switch.t -> unit
(** A daemon of the switch serves the loop, which ends with the switch. *)

val close : t -> unit
(** Refuses the requests that nobody has started, and all later ones. *)

val post : t -> request -> unit
(** Exactly one of the request's functions is called, once. *)

val run : t -> (unit -> 'a) -> 'a
(** See [Muster_eio.on_loop]. *)

val join : 'a Muster.Task.t -> cancel:(unit -> unit) -> 'a
(** Waits for the end of the task. If the caller, a task or a fiber, is cancelled meanwhile, it calls
    [cancel] and goes on waiting. So it never leaves before the task, and keeps its result. *)
