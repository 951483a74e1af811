(** A meeting point of [n] parties: nobody goes on before all have come. Then it closes again, for
    the next meeting. A task that waits is suspended, so there may be more parties than workers; a
    thread outside all pools blocks. *)

type t

val create : int -> t
(** [create n] is a barrier of [n] parties.

    {b Raises} [Invalid_argument] if [n < 1]. *)

val await : t -> unit
(** [await b] returns once [n] calls, this one included, have come since the last time.

    {b Order}: what happened before any of the [n] calls happens before the return of each.
    {b Cancels}: where it waits. Who is cancelled before the last has come leaves: it does not count
    any more, and the others wait for somebody in its place. Once all have come, they go on, whoever
    is cancelled.
    {b Cost}: constant, also where it is cancelled; but who may be the last looks at all others, who
    is wakes them, and who is cancelled and finds that all have come looks for itself among them. *)

val parties : t -> int
(** [parties b] is [n]. *)

val waiting : t -> int
(** [waiting b] is how many have come so far to this meeting. {b Order}: none. *)
