(** Child processes in turn, and what became of them as rows. *)

type options = {
  repeat : int;  (** Rounds; in each, every contender runs once. *)
  quick : bool;
  program : string -> bool;  (** Whether to measure this one of the four programs. *)
  before : string option;  (** The program of [bench/], built from an earlier version. *)
}

val in_turn :
  options ->
  situation:string ->
  program:string ->
  (string * (unit -> float)) list ->
  (string * Measure.sample) list
(** [in_turn options contenders] measures each of them once a round, and says on a
    terminal where it is. *)

val jobs_in_turn :
  options ->
  situation:string ->
  ?confine:Child.confine ->
  ?seconds:float ->
  Job.t ->
  Job.how list ->
  Job.how ->
  Measure.sample
(** [jobs_in_turn options job hows] runs [job] in all these ways, in turn, and is what
    each took. All must find the same answer. *)

val pooled :
  options -> situation:string -> program:string -> string list -> string -> Measure.sample
(** [pooled options arguments figure] is what as many children as there are rounds, all of
    them with the same [arguments], tell about [figure]. *)

val time : Figures.t -> float
(** [time figures] is the one that is called so. *)

(** {1 Rows} *)

val attempt :
  situation:string -> ?detail:string -> program:string -> (unit -> Row.t list) -> Row.t list
(** [attempt rows] is [rows ()], or a row that says why that failed: the others are
    measured all the same. *)

val for_each_job : options -> situation:string -> (Job.t -> Row.t list) -> Row.t list
(** The rows of the programs that are to be measured. *)

val skipped : situation:string -> string -> Row.t list
(** A row that says why there are no others. *)

val say_nothing : unit -> unit
(** Clears the line that says where it is. *)
