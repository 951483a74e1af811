(** Values that tasks inherit. Muster.Task says what each call does. *)

type 'a t

val create : 'a -> 'a t
val get : 'a t -> 'a
val within : 'a t -> 'a -> (unit -> 'b) -> 'b

val bind : 'a t -> 'a -> Promise.local list -> Muster_core.Promise.local list
(** The values that are seen with this one in its place. *)
