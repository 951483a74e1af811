(** A gate that opens once, when it has been counted down to 0. *)

type t

val create : int -> t
(** [create n] opens after [n] calls of {!count_down}; it is open if [n = 0].

    {b Raises} [Invalid_argument] if [n < 0]. *)

val count_down : t -> unit
(** [count_down l] counts one down. The call that comes to 0 wakes all waiters.

    {b Raises} [Invalid_argument] if [l] is open already.
    {b Cost}: about 15 ns, and a wake for each waiter.
    {b Cancels}: nowhere. *)

val await : t -> unit
(** [await l] returns once [l] is open.

    {b Cost}: 1 ns if it is open.
    {b Order}: everything before any [count_down] of [l] happens before the return, and before that
    of a {!count} that is 0.
    {b Cancels}: while it waits. *)

val count : t -> int
(** [count l] is the number of counts still to come; 0 means open.

    {b Order}: if it is 0, as {!await}. *)
