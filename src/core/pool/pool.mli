(** A pool's life: how it is made, how callers use it, how it ends. *)

type t = Place.pool

val name : t -> string
val equal : t -> t -> bool
val size : t -> int
(** How many workers it has at most, a caller among them. *)

val create :
  ?name:string ->
  ?domains:int ->
  ?oversubscribe:bool ->
  ?minor_heap_words:int ->
  unit ->
  t

val create_promising : ?name:string -> domains:int -> unit -> t
(** {!create} for tasks that wait for each other unseen: so many domains, the caller's among them,
    will be there whatever the machine does. *)

val with_ : ?name:string -> ?domains:int -> ?oversubscribe:bool -> (t -> 'a) -> 'a

val find : string -> t option
(** The newest open pool of that name. *)

(** {2 The current pool} *)

val current : unit -> t
(** The pool in which the calling thread works, or else the default one. *)

val default : unit -> t
(** The default pool, which the first call makes. *)

val set_default : domains:int -> unit

val default_pool : t option Atomic.t
(** The one that was made last; tests put another one there. *)

(** {2 Working in one} *)

val run : t -> (unit -> 'a) -> 'a

val with_current : (Place.t -> 'a) -> 'a
(** Calls the function with the thread's place in the current pool. *)

val with_branches : (Place.t -> 'a) -> 'a
(** The same for code that forks (Fiber.in_call). *)

(** {2 Closing} *)

val close : t -> unit

val close_of : string -> t -> unit
(** {!close} for the public function of that name. Raises [Invalid_argument] in a task of the pool,
    which would wait for itself. *)

include module type of struct
  include Stats
end
