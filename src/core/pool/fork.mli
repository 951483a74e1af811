(** Fork-join: offer a task, do something else, take it back or wait for it. *)

val both : (unit -> 'a) -> (unit -> 'b) -> 'a * 'b
(** See Muster. *)

val wait_done :
  ?event:Event.t -> ?struck:(unit -> unit) -> ?first:(unit -> unit) -> 'a Promise.t -> unit
(** Waits, after [first], until the promise is resolved. The first asynchronous exception is raised
    afterwards; [struck] is called when it comes, and may stop the task. A second one ends the
    wait. *)

val wait_struck : ?event:Event.t -> 'a Promise.t -> unit
(** The same for code that one has struck already: the next one ends the wait. *)

val skip : Outcome.failure option -> 'a
(** By the left function of a fork, when the right one is in vain as that failure came first: raises
    [Promise.Skipped], or Ctrl-C itself, so that a second one ends the wait for the right one. *)

val result : 'a Promise.t -> 'a
(** The value or the failure of a promise that is resolved. *)

(** {2 For models and Domainslib's loops} *)

val take_back : 'a Promise.t -> bool
(** Whether the caller has taken the offered task back: then the caller runs its function. *)

val both_offered : ?code:int -> Place.t -> wake:bool -> (unit -> 'a) -> (unit -> 'b) -> 'a * 'b
(** [both], where the second function is offered for certain. [code] names it for traces. *)

val in_place : (unit -> 'a) -> (unit -> 'b) -> 'a * 'b
(** Both functions, one after the other. *)
