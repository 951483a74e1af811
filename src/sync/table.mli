(** Hash tables that many tasks share. The function of a key runs once, and other tasks that need
    its value wait. Lookups take no lock.

    {[
      let squares = Muster.Table.create ()
      let square n = Muster.Table.find_or_add squares n (fun n -> n * n)

      let () =
        Muster.parallel_for ~start:1 ~finish:100 (fun i -> ignore (square (i mod 10)));
        assert (Muster.Table.length squares = 10)
    ]}

    While a function runs for a key, calls that look see the value from before. Calls that need the
    new value wait until it has ended. Then they go on, in turn, as if they came anew. So if the
    function raises, or its task is cancelled, the key is as before, and the next waiter calls its
    own function.

    A function may use the table, but not for its own key. Two functions that wait for each other's
    keys wait for ever. See {{!page-limits.section-keys_that_wait_for_each_other}doc/limits.md,
    "Keys that wait for each other"}.

    {b Cost}: a lookup takes as long as one of [Hashtbl], 20 to 300 ns; a new key about 50 ns more.
    A table has 650 words, and 6 to 9 for each key. *)

type (!'k, !'v) t

val create : ?hash:('k -> int) -> ?equal:('k -> 'k -> bool) -> unit -> ('k, 'v) t
(** [create ()] is an empty table. [equal] (default: [compare] gives 0) tells whether two keys are
    the same; [hash] (default: [Hashtbl.hash]) gives equal keys the same number. *)

val find_opt : ('k, 'v) t -> 'k -> 'v option
(** [find_opt t key] is the value of [key], if there is one.

    {b Raises} what [hash] and [equal] raise, as all functions do that get a key.
    {b Order}: if it is a value, the call that put it there, and the function that made it, happen
    before the return. *)

val mem : ('k, 'v) t -> 'k -> bool
(** [mem t key] tells whether [key] has a value. {b Order}: if so, as {!find_opt}. *)

val find_or_add : ('k, 'v) t -> 'k -> ('k -> 'v) -> 'v
(** [find_or_add t key f] is the value of [key]. If there is none, it becomes [f key].

    {b Raises} what [f] raises; [Invalid_argument] if the function of [key] asks for [key] in its
    own task.
    {b Order}: as {!find_opt}.
    {b Cancels}: while it waits, and where [f] does. *)

val update : ('k, 'v) t -> 'k -> ('v option -> 'v option) -> unit
(** [update t key f] gives [key] the value [f v], where [v] is its value so far. [None] stands for
    no value. Of several updates of one key each sees the value of the one before.

    {[
      let words = Muster.Table.create ()

      let count word =
        Muster.Table.update words word (fun n -> Some (1 + Option.value n ~default:0))
    ]}

    A count is faster as an [Atomic.t], which {!find_or_add} makes.

    {b Raises} as {!find_or_add}.
    {b Cost}: about 80 ns. Each end of a function wakes one of those that wait for the key.
    {b Order}: as {!find_opt}, for the value that [f] gets.
    {b Cancels}: as {!find_or_add}. *)

val replace : ('k, 'v) t -> 'k -> 'v -> unit
(** [replace t key v] is [update t key (fun _ -> Some v)]. {b Order}: as {!update}. *)

val remove : ('k, 'v) t -> 'k -> unit
(** [remove t key] is [update t key (fun _ -> None)]. {b Order}: as {!update}. *)

val length : ('k, 'v) t -> int
(** [length t] is the number of keys, also of those whose function runs. {b Order}: none. *)

val iter : ('k -> 'v -> unit) -> ('k, 'v) t -> unit
(** [iter f t] calls [f key v] for each key, one after the other. Keys that come or go meanwhile are
    seen or not. [f] may use the table.

    {b Order}: as {!find_opt}, for each value. *)

val fold : ('k -> 'v -> 'acc -> 'acc) -> ('k, 'v) t -> 'acc -> 'acc
(** [fold f t init] is [f k1 v1 (f k2 v2 … init)], with the keys of {!iter}.

    {b Order}: as {!iter}. *)

val memo : ?hash:('k -> int) -> ?equal:('k -> 'k -> bool) -> (('k -> 'v) -> 'k -> 'v) -> 'k -> 'v
(** [memo f] is a function [g] with [g key = f g key], which calls [f] once for each key. [f] calls
    its first argument instead of itself. It may fork: tasks that come to the same key share its
    value.

    {[
      let paths =
        Muster.Table.memo (fun paths (x, y) ->
            if x = 0 || y = 0 then 1
            else
              let left, down =
                Muster.both (fun () -> paths (x - 1, y)) (fun () -> paths (x, y - 1))
              in
              left + down)

      let () = assert (paths (10, 10) = 184_756)
    ]}

    The values stay as long as [g] does. A cycle raises [Invalid_argument], or waits for ever where
    it goes through another task.

    {b Raises} as {!find_or_add}.
    {b Order}: as {!find_or_add}.
    {b Cancels}: as {!find_or_add}. *)
