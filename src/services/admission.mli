(** A bounded queue of jobs, slots of which each is one job's at a time, and the runners that bring
    them together. *)

type 'w slot = {
  index : int;
  mutable value : 'w option;  (** by the runner that has the slot, as the next *)
  mutable unanswered : Promise.any list;
      (** jobs that have ended, the last ones: they may have yet to be answered *)
}

type 'w job

type 'w hand
(** The slot and the job of a runner. *)

type 'w start = 'w hand -> unit -> unit
(** Makes a runner, which is to call {!run} with that hand; the result sends it, perhaps twice. *)

type refusal = Full | Closed
type 'w t

val create : workers:int -> bound:int -> 'w t

val new_job :
  'w t ->
  priority:int ->
  Promise.any ->
  work:('w slot -> unit) ->
  answer:(unit -> unit) ->
  'w job
(** [work] runs the job, and keeps its result. It raises asynchronous exceptions only. Called again
    it does nothing; nor does [answer]. *)

val admit : 'w t -> 'w job -> nested:bool -> start:'w start -> (unit, refusal) result
(** Puts the job into the queue. One that is [nested] is begun at once: where no slot is free, it
    gets an extra one. *)

val withdraw : 'w t -> 'w job -> (unit -> unit) -> unit
(** [withdraw t job answer] takes it out of the queue and answers it, if it is there. Never
    waits. *)

type 'w runner = {
  start : 'w start;
  between : unit -> unit;  (** two jobs *)
  idle : (unit -> bool) -> unit;  (** waits a moment for a job to come *)
  struck : exn -> unit;  (** by an asynchronous exception *)
}

val run : 'w t -> 'w hand -> 'w runner -> unit

val is_extra : 'w t -> 'w slot -> bool
(** It goes when its job ends. *)

val close : 'w t -> start:'w start -> unit
(** From now on no job is admitted, but nested ones. *)

val cut : 'w t -> start:'w start -> Promise.any list
(** From now on none at all. The jobs that there are, to be stopped: those in the queue come first,
    as a runner that ends one takes the next. *)

val join : 'w t -> unit
(** Waits until all jobs have ended, after {!close}. *)

val slots : 'w t -> 'w slot list

val take_free : 'w t -> 'w slot option
(** Takes away a slot that no job has. *)

val busy_and_queued : 'w t -> int * int
