(** The words in which workers tell a tracing program ([muster why]) of their work: events of the
    runtime's own rings ([Runtime_events]), all of one name, ["muster.trace"].

    An event stands in the ring of the domain that did it, with the runtime's time. Tasks have
    numbers, from 1, and say all of it by these: a task that has waited may go on in another domain,
    so the events between two of a ring need not be one task's. Names and sites have numbers of
    one table, of which {!Name} tells an entry before its first use. *)

include module type of struct
  include Word
end

(** {2 In the traced program}

    While it is off, each is a load and a test. *)

val is_on : unit -> bool

val set : bool -> unit
(** On: starts the runtime's events where they have not begun, which ends the program where their
    file cannot be written; and tells all names again. A process whose environment has
    [MUSTER_TRACE=1], or [sparse], begins with it on, and leaves the start to the runtime's own
    variables. [sparse]: tasks are sampled where a domain hands them out more often than every 60
    us, else where more often than every 15 us. *)

val look_for_request : unit -> unit
(** By a worker, every so often: heeds a file [PID.muster] in the folder of the runtime's rings
    ([OCAML_RUNTIME_EVENTS_DIR], or the current one), at most four times a second. One that says
    [on], [sparse] or [off] is removed and does so. *)

val emit : event -> unit
(** Unconditionally: to be asked after {!is_on}. 0.1 us. *)

val task : parent:int -> code:int -> place:(unit -> string) -> int
(** The number of a task that is handed out now, whose function has that code, after [Fork] was
    told; or 0, where it is one that is not traced. [place] is asked at the first of the code, and
    each time where the code is {!by_place}. *)

val by_place : int

val takes_wait : unit -> bool
(** Whether a wait that begins now is to be traced. *)

val name : string -> int
(** The number of a name. *)

val thread : unit -> int
(** The system's number of the calling thread. 0.1 us. *)

val now : unit -> int
(** The clock of the rings, in ns. *)

(** {2 In the program that traces} *)

val add_callback :
  (int -> Runtime_events.Timestamp.t -> event -> unit) ->
  Runtime_events.Callbacks.t ->
  Runtime_events.Callbacks.t
(** The first argument is the ring. *)

val encode : bytes -> event -> int
(** Writes it as in the ring, into the first 24 bytes (520 for a [Name]); how many it took. *)

val decode : bytes -> int -> event
(** The reverse; the number is of those bytes. *)

val to_ints : event -> string * int list
(** A word and the numbers of its fields, in their order. Not for [Name]. *)

val of_ints : string -> int list -> event
(** The reverse. Raises [Invalid_argument] where that is no event. *)
