(** What one run of a program did: what [muster why] records, and its report shows.

    Times are in ns, on the system's monotonic clock, counted from the beginning of the recording.
    Spans are told by the numbers of their tasks, not by nesting: a task that waits may go on in
    another domain, and its worker does something else meanwhile. *)

(** What the collector does in a domain. Phases of one domain nest: the innermost counts. *)
type phase =
  | Minor  (** it empties the minor heaps *)
  | Major  (** it marks, sweeps or compacts *)
  | Stop  (** it waits until all other domains have stopped, or are through *)

type event =
  | Muster of Muster_trace.Trace.event
      (** See there for each. Never [Name]: {!t.names} has them all. *)
  | Gc of phase  (** begins *)
  | Gc_end of phase
  | Lost of int
      (** Here so many words of this domain's ring were overwritten before they were read:
          beginnings without an end, and the reverse. *)

type timeline = {
  ring : int;
      (** the domain's place in the runtime, from 0, the program's first domain; one that comes
          after a domain's end may have its place *)
  events : (int * event) array;  (** in the order of time *)
}

(** Of one thread, in all until then. *)
type thread = {
  thread : int;  (** the system's number: see [Busy] *)
  cpu : int;  (** ns on a CPU *)
  queue : int;  (** ns of waiting for one while it could run *)
}

(** What the system said at one moment. *)
type sample = {
  at : int;
  threads : thread list;
  throttled : int option;  (** ns for which a quota has stopped the process, in all until then *)
}

(** A signal by the system's number. *)
type outcome =
  | Exited of int
  | Signalled of int
  | Ended  (** while it was watched by [--pid]: only its parent knows how *)
  | Still_running

type t = {
  program : string list;  (** with its arguments *)
  outcome : outcome;
  ocaml_rings : bool;  (** whether the program's runtime told anything *)
  duration : int;
  cpus : float;  (** that the program may use, by affinity and quota *)
  names : (int * string) list;  (** by the number: sites, and reasons and names of waits *)
  timelines : timeline list;  (** by the ring *)
  samples : sample list;  (** in the order of time, some 50 a second *)
  lost : int;  (** words of the rings that were overwritten before they were read *)
  left_out : int;  (** events that were read when {!kept} were there *)
  measures : (string * float) list;
      (** of the whole run, also where events were lost or left out: see Measures *)
  causes : (string * float) list;
      (** that were found, the largest first: the seconds of the run that each takes at most *)
  verdict : string list;  (** the text that [muster why] prints, by lines *)
}

val kept : int
(** So many events are kept of a run at most, the first ones: some 30 MB, and 250 to write. *)

val lost_events : int -> string
(** In so many words: a range, since an event has 2 to 6 of them. *)

val name : t -> int -> string
(** That of a number; ["?"] if it was lost. *)

val to_channel : out_channel -> t -> unit
(** One JSON object, whose fields are those above. An event is an array: its time, its word, and
    its fields' numbers without zeros at the end. A thread, a name and a cause are arrays of their
    parts; the outcome is [{"exited": n}], [{"signalled": n}], ["ended"] or [null]. Later versions may have
    more fields. *)

val of_channel : in_channel -> t
(** Raises [Yojson.Json_error] for what is no JSON, and [Yojson.Basic.Util.Type_error] or
    [Invalid_argument] for what is no recording. *)
