(** The job, sequentially and on 1, 2, … domains, and whether the answers are equal. *)

type run = {
  domains : int option;  (** As many as the pool had; None for the sequential program. *)
  times : (string * float) list;
}

exception Different of { domains : int; what : string }
(** A parallel answer is not the sequential one. *)

val counts : int -> int list
(** The numbers of domains to run on, up to a largest: all up to 8, then powers of two. *)

val most : oversubscribe:bool -> int -> int
(** How many domains a pool has that is made for so many. *)

val measure :
  oversubscribe:bool -> domains:int list -> repeat:int -> string list -> Answer.t * run list
(** [measure ~oversubscribe ~domains ~repeat texts] runs everything [repeat] times, in
    turn, and keeps for each phase of each run its shortest time.

    {b Raises} {!Different}, {!Text.Malformed}. *)

val total : run -> float
