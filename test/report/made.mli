(** Recordings made up: of tasks that fork tasks on some workers, with collections, waits, steals and
    lost events, as a program's would be. *)

val recording :
  ?workers:int -> ?lost:bool -> tasks:int -> seed:int -> unit -> Muster_cli.Recording.t
(** The same for the same arguments. Some three events or more for each task. *)

val of_events :
  ?names:(int * string) list ->
  ?samples:Muster_cli.Recording.sample list ->
  duration:int ->
  (int * Muster_cli.Recording.event) list list ->
  Muster_cli.Recording.t
(** A timeline for each list. *)
