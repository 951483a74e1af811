(** HTTP/1.1 on one connection, with a limit for all that a client may do. *)

type answer = { status : Http.Status.t; headers : (string * string) list; body : string }

val text : ?headers:(string * string) list -> Http.Status.t -> string -> answer
(** A line of plain text. *)

exception Hung_up
(** The client has closed its side: nobody waits for the answer. *)

type limits = {
  head : int;  (** bytes of a request *)
  seconds : float;  (** in which a request has to come, and an answer has to go *)
}

val is_readable : _ Eio.Resource.t -> bool
(** Whether a socket has a client, bytes or an end to read at this moment. It does not wait. *)

val serve :
  clock:_ Eio.Time.clock ->
  stop:unit Eio.Promise.t ->
  limits ->
  ((unit -> 'never) -> Http.Request.t -> answer) ->
  _ Eio.Net.stream_socket ->
  unit
(** [serve ~clock ~stop limits handle socket] answers the requests of a client, one after the other.
    It ends after the answer that is under way when [stop] comes, when the client ends, or at a
    request that breaks a limit, which is answered with 400, 408 or 431.

    [handle hung_up request] may race [hung_up] against its work: it raises {!Hung_up} when the
    client has gone. *)
