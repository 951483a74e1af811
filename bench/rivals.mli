(** Programs of other languages that do the same work.

    Each is an executable in one directory, which [rivals/run] fills:
    - [PROGRAM list] prints one line [EXPERIMENT PEER] for each thing that it can measure;
    - [PROGRAM EXPERIMENT PEER THREADS SIZE] does it once and prints [PEER NANOSECONDS].
      The size is Fibonacci's argument, a batch's duration in nanoseconds, or the number
      of steps. A program that takes more than a minute is stopped. *)

type t
type peer

val none : t

val discover : string -> t
(** [discover dir] asks every program in [dir] what it can measure.
    @raise Failure if a program fails or prints something else. *)

val of_experiment : t -> string -> peer list
val name : peer -> string

val run : peer -> threads:int -> size:int -> float
(** The cost in nanoseconds.
    @raise Failure if the program fails or prints something else. *)
