(** What is measured: contenders that do the same work, and the bars between them. *)

type who = { name : string; domains : int }
(** A contender: a library (or ["sequential"]) on a number of domains or threads. *)

val sequential : who
(** The plain OCaml program. *)

val muster : int -> who
val domainslib : int -> who

type contender = { who : who; run : unit -> float }
(** [run ()] does the work once, in a new pool, and is its cost: nanoseconds or words. *)

type limit = At_most of float | At_least of float

type bar = {
  claim : string;
  subject : who;
  against : who option;
  limit : limit;
      (** [At_most x]: the subject's cost is at most [x] times the other's.
          [At_least x]: the subject is at least [x] times faster than the other.
          Without another, [At_most x] bounds the cost itself. *)
}

type quantity = Time | Words

type t = {
  name : string;
  title : string;
  quantity : quantity;
  contenders : contender list;
  bars : bar list;
}

type options = {
  domains : int;
  quick : bool;  (** Sizes that only show that everything runs. *)
  rivals : Rivals.t;
}

val of_rivals : options -> t_name:string -> domains:int -> size:int -> contender list
(** The contenders of other languages in the experiment [t_name]. *)

val sized : options -> quick:'a -> full:'a -> 'a
(** The size to use. *)

val budget : options -> float
(** How long a batch of short calls runs, in nanoseconds. *)
