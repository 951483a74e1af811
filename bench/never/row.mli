(** One line of the table: a figure and the bar that it must keep. *)

type got =
  | Ratio of { subject : Measure.sample; against : Measure.sample }
  | More of { subject : Measure.sample; against : Measure.sample }
      (** By how many nanoseconds the subject takes more. *)
  | Amount of Measure.sample  (** Nanoseconds. *)
  | Skipped of string
  | Failed of string

type limit = At_most of float | Below of float

type t = {
  situation : string;  (** As [--only] has it. *)
  detail : string;  (** What exactly, e.g. how many domains were asked for. *)
  program : string;
  got : got;
  limit : limit;
}

val figures : t -> (float * float) option
(** By the medians, and by the minima. *)

type verdict = Pass | Missed | Not_run of string

val verdict : t -> verdict
(** By the medians. *)

val failed : t -> bool
val table : t list -> Table.t

val summary : t list -> string
(** How many rows pass. *)

val json : t -> Yojson.Safe.t
