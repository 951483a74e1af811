(** A meeting point of [n] parties: none goes on before all have arrived. Then it closes again for
    the next meeting. A task that waits is suspended, so there may be more parties than workers. *)

type t

val create : int -> t
(** [create n] is a barrier of [n] parties.

    {b Raises} [Invalid_argument] if [n < 1]. *)

val await : t -> unit
(** [await b] returns once [n] calls, this one included, have arrived since the last meeting.

    {b Cost}: constant, plus a wake for each waiter in the last call.
    {b Order}: everything before any of the [n] calls happens before the return of each.
    {b Cancels}: while it waits. A call that is cancelled before the last one arrives no longer
    counts; afterwards it goes on. *)

val parties : t -> int
(** [parties b] is [n]. *)

val waiting : t -> int
(** [waiting b] is the number of calls that have arrived for this meeting. {b Order}: none. *)
