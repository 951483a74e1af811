(** Messages from one rank to another. Muster_mpi.Port says what each call does. *)

type 'a t

val create : unit -> 'a t
val send : 'a t -> dest:int -> 'a -> unit
val receive : 'a t -> source:int -> 'a

val send_of : string -> 'a t -> dest:int -> 'a -> unit
(** {!send} for the call of that name, to a rank that there is. *)

val receive_now : 'a t -> (int * 'a) option
(** What came first, and from where; [None] if there is nothing. *)

(** {2 Those of [parallel_map_dynamic]}

    No message is under way when a call returns, so the next one may send another type. *)

val asks : 'a t
val answers : 'a t
