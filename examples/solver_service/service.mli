(** A solver over HTTP: [/solve?pkg=NAME&ocaml=VERSION], [/ping] and [/metrics]. *)

(** Where solves run. *)
type place =
  | Workers of { count : int; queue : int }  (** on Muster's workers *)
  | Executor_pool of int  (** on Eio's, to compare: they know neither deadlines nor a full queue *)
  | Event_loop  (** on the domain that serves the network, to compare *)

type settings = {
  source : Repository.source;
  place : place;
  deadline : float;  (** for a solve, its time in the queue included *)
  grace : float;  (** for the solves that run at the end *)
  limits : Connection.limits;
  port : int;  (** 0: a free one *)
  accept_domains : int;
}

val run : Eio_unix.Stdenv.base -> settings -> unit
(** Prints [listening on port N], serves until SIGINT or SIGTERM, and returns when all is answered.
    SIGHUP reads the repository anew; the old one serves until the new one is there. *)
