(** Muster's loops over the ranks of MPI: one program, started once for each machine or socket
    ([mpirun -n 4 ./prog]), whose ranks run the same calls. Each rank runs its part of a call on its own
    pool of domains. Outside [mpirun] the program is one rank.

    {[
      let () =
        Muster_mpi.run @@ fun () ->
        let square i = float i *. float i in
        let sum = Muster_mpi.parallel_reduce ~start:1 ~finish:1000 ~combine:( +. ) ~init:0. square in
        if Muster_mpi.rank () = 0 then Printf.printf "%.0f\n" sum
    ]}

    Rules for all operations, that is for all calls below but {!val-rank}, {!val-ranks} and those of
    {!Port}:

    - All ranks call the same operations in the same order, with the same numbers as arguments, in
      {!run}: outside of it they raise [Invalid_argument]. The function given to one calls no other.
    - A call returns on all ranks, or raises on all. A function's exception leaves the call as {!Raised}
      on every rank, also on the one where it was raised, so that a handler does the same everywhere.
    - Ranks at different operations get [Invalid_argument] with the names and numbers of both calls. One
      that waits for a message instead ({!Port.receive}) is told of if [MUSTER_MPI_CHECK=1]: each rank
      says on stderr where it has waited for 5 seconds.
    - A value travels as [Marshal] has it, functions included, since all ranks are the same program.
      What [Marshal] refuses (a mutex, a channel) is {!Raised}, with the call's name. Arrays of floats
      and of ints go from one heap to the other without a copy in {!Array} and {!Spread.gather}.

    {b Cost} of an operation: one [MPI_Allgather] of 128 bytes and about 1 us, and a second collective
    where a rank's value is longer than 90 bytes.
    {b Domains}: one task or thread of a rank calls operations at a time.
    {b Order}: what each rank did before a call happens before the call's return on every rank.
    {b Cancels}: the local part hears a cancellation, and all ranks leave with {!Raised}; what waits for
    other ranks does not hear it. *)

type failure = { rank : int; exn : string; backtrace : string }
(** Where an exception was raised, its text and its backtrace. *)

exception Raised of failure
(** The leftmost exception of an operation: that of the smallest index, whichever rank ran it. *)

(** {1 Ranks} *)

val run : (unit -> unit) -> unit
(** [run f] starts MPI, runs [f], and ends MPI. The ranks of one machine share its CPUs: each default
    pool gets the CPUs that the rank may use, divided by the ranks that may use the same. A rank that
    [mpirun] has bound to one CPU of several says so on stderr.

    An exception that leaves [f] ends the program on all ranks, with status 2. [exit] in [f] is the end
    of [f], on this rank: all ranks call it, or none.

    {b Raises} [Invalid_argument] if called twice.
    {b Cost}: 0.2 to 0.5 s.
    {b Domains}: the main domain, before anything uses the default pool. {b Order}: none. *)

val rank : unit -> int
(** The number of this rank, from 0. {b Order}: none. *)

val ranks : unit -> int
(** The number of ranks. {b Order}: none. *)

val barrier : unit -> unit
(** Returns when all ranks have called it. *)

val broadcast : ?root:int -> (unit -> 'a) -> 'a
(** [broadcast f] is [f ()] of rank [root] (default 0), on all ranks: to read a file once, say.

    {b Raises} [Invalid_argument] if there is no such rank; {!Raised} if [f] does. *)

(** {1 Loops}

    As those of [Muster]. Each rank has one block of the range, and blocks follow the ranks. *)

val parallel_for : start:int -> finish:int -> (int -> unit) -> unit
(** [parallel_for ~start ~finish f] calls [f i] for each [i], each on one rank. Effects stay there. *)

val parallel_reduce :
  ?grain:int -> start:int -> finish:int -> combine:('a -> 'a -> 'a) -> init:'a -> (int -> 'a) -> 'a
(** [parallel_reduce] is [Muster.parallel_reduce], with the same bracketing: floats have the same bits
    on any number of ranks and domains. Each rank combines the last values itself, at most 18 for each
    rank unless [grain] makes more, so [combine] does the same on all ranks.

    {b Raises} {!Raised}; [Invalid_argument] if [grain < 1]. *)

val parallel_reduce_range :
  ?grain:int ->
  start:int ->
  finish:int ->
  combine:('a -> 'a -> 'a) ->
  init:'a ->
  (start:int -> finish:int -> 'a) ->
  'a
(** [Muster.parallel_reduce_range], for sums of floats without boxes; else as {!parallel_reduce}. *)

val parallel_scan : ('a -> 'a -> 'a) -> 'a array -> 'a array
(** [parallel_scan op a], of an array that all ranks have, is [Muster.parallel_scan op a] on all ranks,
    with the same bracketing.

    {b Raises} {!Raised}, not always that of the leftmost prefix. *)

val parallel_find : start:int -> finish:int -> (int -> 'a option) -> 'a option
(** [parallel_find ~start ~finish f] is [f i] for the smallest [i] where that is not [None]. The range
    is searched in rounds, each twice as long as the one before, so up to that much is searched in
    vain.

    {b Raises} the exception of the smallest index, if no smaller one is found, as {!Raised}. *)

val parallel_map_dynamic : ?checkpoint:string -> ('a -> 'b) -> 'a array -> 'b array
(** [parallel_map_dynamic f jobs] is [Array.map f jobs] on all ranks, for jobs of uneven length: a rank
    asks for the next one when a worker is free, and rank 0 gives them out in order. Its own workers
    take part. For jobs of 1 ms and more.

    [checkpoint] names a file of rank 0, which keeps each result as it comes. If the program ended
    early, the same call of the same build does only the rest, on any number of ranks. Records that a
    crash has torn are done again.

    {b Raises} the exception of the smallest index, as {!Raised}: jobs after it may not have begun;
    {!Raised} with [Invalid_argument] if the file belongs to other jobs, another function or another
    build, or with [Sys_error].
    {b Cost}: a message to rank 0 and one back for each job, 10 to 100 us. Rank 0 looks for messages
    each 20 us, which takes a third of an idle CPU, and 2 percent of one that computes. *)

(** {1 Arrays} *)

(** Arrays of which each rank computes a block. *)
module Array : sig
  val init : ?on:int -> int -> (int -> 'a) -> 'a array
  (** [init n f] is [Array.init n f] on all ranks; with [on], on that rank, and empty elsewhere.

      {b Raises} {!Raised}; [Invalid_argument] if [n < 0] or there is no such rank. *)

  val map : ?on:int -> ('a -> 'b) -> 'a array -> 'b array
  (** [map f a] is [Array.map f a], of an array that all ranks have; [on] as for {!init}. *)
end

(** Arrays that are left where they were made: each rank has a block. *)
module Spread : sig
  type 'a t

  val init : int -> (int -> 'a) -> 'a t
  (** [init n f]: each rank has [f i] for the indices of its block.

      {b Raises} {!Raised}; [Invalid_argument] if [n < 0]. *)

  val map : ('a -> 'b) -> 'a t -> 'b t
  (** [map f t] is [f] of each element, where it lies. *)

  val length : 'a t -> int
  (** Of all blocks. {b Order}: none. *)

  val first : 'a t -> int
  (** The index of this rank's first element. {b Order}: none. *)

  val own : 'a t -> 'a array
  (** This rank's block, not a copy. {b Order}: none. *)

  val gather : ?on:int -> 'a t -> 'a array
  (** The whole array, on all ranks; with [on], on that rank, and empty elsewhere.

      {b Raises} [Invalid_argument] if there is no such rank. *)
end

(** {1 Messages} *)

(** Typed messages from one rank to another, for neighbours that exchange their borders. *)
module Port : sig
  type 'a t

  val create : unit -> 'a t
  (** A port for messages of one type. All ranks create the same ports in the same order, outside of
      operations: that is what makes the types agree. {b Order}: none. *)

  val send : 'a t -> dest:int -> 'a -> unit
  (** [send port ~dest v] sends a copy of [v], and does not wait for the receiver. Messages from one
      rank arrive in order.

      {b Raises} [Invalid_argument] if there is no such rank, or [v] cannot be sent. {b Order}: all
      before [send] happens before the {!receive} that gets the message returns. *)

  val receive : 'a t -> source:int -> 'a
  (** [receive port ~source] waits for the next message of that rank.

      {b Raises} [Invalid_argument] if there is no such rank. {b Order}: as {!send}. {b Cancels}:
      while it waits. *)
end
