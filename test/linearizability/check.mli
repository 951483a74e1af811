(** Programs against their model, as cases of Alcotest. *)

type way
(** How the sides of a program run at the same time. *)

val domains : way

val threads : way
(** Systhreads of one domain, which change at every command. *)

val tasks : int -> way
(** Tasks of a pool of that many workers. *)

val mixed : way
(** A task, a thread and a domain, as far as there are so many. *)

val everywhere : way list

val case : ?seconds:int -> string -> (unit -> unit) -> unit Alcotest.test_case
(** With a guard against hangs after [seconds] (default 60) and what {!times} take. *)

val times : int -> int
(** That many, times the environment variable [MUSTER_ROUNDS] (default 1). *)

val test :
  ?seconds:int ->
  ?within:((unit -> unit) -> unit) ->
  (unit -> QCheck.Test.t) ->
  name:string ->
  unit Alcotest.test_case
(** The property is made when its turn comes. QCheck prints its seed, and [QCHECK_SEED] repeats it. *)

module Make (_ : Program.Spec) : sig
  val cases : ?programs:int -> ?runs:int -> string -> way list -> unit Alcotest.test_case list
  (** [cases name ways]: by one thread alone (qcheck-stm's own runner), and each of the ways: {!times}
      [programs] random programs (default 40), each [runs] times (200) on domains, since how it goes is
      up to the machine; the other ways, which cost more, with more programs and fewer runs. After
      {!times} 0.4 seconds a case begins no more programs. *)
end
