(** Random programs for several sides at once, and whether what they saw is linearizable: whether
    some order of their commands, in which each side's stay in turn and one that ended before another
    began comes first, gives a sequential model the same results.

    Beyond what the runners of qcheck-stm do, commands may wait for those of other sides, sides may
    have roles, there may be three of them, and the order heeds which command ended before which. *)

module type Spec = sig
  include STM.Spec
  (** [precond cmd state]: in that state [cmd] takes effect at once. Else it waits until it can. *)

  val sides : int

  val may : side:int -> cmd -> bool
  (** Who calls what. Before the sides begin, and after they have ended, one thread calls all. *)

  val at_rest : state -> bool
  (** False in the middle of a command that takes two sides: the other one comes next. *)

  val after : cmd -> state -> STM.res -> state
  (** [next_state], where the model leaves several results open. *)

  val last : cmd list
  (** What is looked at when all sides have ended. *)
end

(** What most have: three sides, which may call anything. *)
module Anyone : sig
  val sides : int
  val may : side:int -> 'cmd -> bool
  val at_rest : 'state -> bool
  val last : 'cmd list
end

(** {1 Commands at random} *)

val one_of : ('cmd -> string) -> (int * (Random.State.t -> 'cmd)) list -> 'cmd QCheck.arbitrary
(** One of these, with these weights. *)

val always : 'cmd -> Random.State.t -> 'cmd

val below : int -> (int -> 'cmd) -> Random.State.t -> 'cmd
(** A command of a number from 0 on, below that one. *)

(** {1 Programs at random} *)

module Make (Spec : Spec) : sig
  type t = { first : Spec.cmd list; sides : Spec.cmd list list }

  val is_fit : t -> bool
  (** It comes to its end in whatever order the sides go on. *)

  val arbitrary : t QCheck.arbitrary
  (** Programs that are fit. *)

  val arbitrary_alone : Spec.cmd list QCheck.arbitrary
  (** Commands of one thread, none of which waits. *)

  (** {2 What was seen} *)

  type seen

  val observe :
    ?pause:(unit -> unit) -> clock:int Atomic.t option -> Spec.sut -> Spec.cmd list -> seen list
  (** Runs the commands, with a [pause] before each. Without a clock nobody knows what ended before
      what, nor do the sides have that atomic in common, which would hide much. *)

  val explains : first:seen list -> sides:seen list list -> last:seen list -> bool
  (** Whether the model explains what was seen. *)

  val to_string : first:seen list -> sides:seen list list -> last:seen list -> string
end
