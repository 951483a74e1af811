(** MPI's calls, one at a time. By the caller's own thread where MPI allows it from any thread, else by
    one thread that does nothing else. *)

type packet
(** The bytes of a value, outside of OCaml's heap. *)

val start : unit -> unit
(** Starts MPI, and asks for calls from any thread, one at a time ([MPI_THREAD_SERIALIZED];
    [MUSTER_MPI_THREADS=funneled] asks for less). *)

val stop : unit -> unit
(** Ends MPI, unless messages are left that nobody has received. *)

val abort : int -> unit
val rank : unit -> int
val ranks : unit -> int

(** {2 Errors of the user's call}

    [fn] is its name in [Muster_mpi]. They raise [Invalid_argument]. *)

val invalid : string -> ('a, unit, string, 'b) format4 -> 'a

val check_runs : string -> unit
(** Whether MPI is started, and not ended. *)

val check_rank : string -> string -> int -> unit
(** [check_rank fn what rank]: whether there is that rank; and as {!check_runs}. *)

val refuse_value : string -> string -> 'a
(** [refuse_value fn reason], where {!encode} has refused a value for that reason. *)

val wake_exactly : unit -> unit
(** This thread's sleeps end when they should, to some us. *)

(** {2 Values} *)

val encode : 'a -> packet
(** Raises [Invalid_argument] if the value cannot be sent. *)

val decode : packet -> word:int -> 'a
val words : packet -> int

(** {2 Calls of all ranks} *)

val exchange : patience:(unit -> unit) option -> bytes -> bytes
(** All ranks' bytes in a row. [patience] is called again and again while others are missing. *)

val gather_packets : packet -> int array -> packet
(** Of each rank's packet as many words as the array says, in a row. *)

val broadcast : packet -> words:int -> root:int -> packet

type kind = Empty | Floats | Immediates | Others

val kind : 'a array -> kind

val gather_words : 'a array -> int array -> kind -> on:int option -> 'a array
(** The ranks' arrays in a row, of lengths that the array says, all [Floats] or all [Immediates], on
    one rank or on all. *)

(** {2 Between two ranks} *)

val send : packet -> dest:int -> tag:int -> unit
(** Does not wait. *)

val receive : ?source:int -> tag:int -> looks:int -> unit -> (int * packet) option
(** What came first, from that source or from any, and from where. *)

val unsent : unit -> int
(** Messages that nobody has received. *)
