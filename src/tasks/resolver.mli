(** Promises that no task runs, and the right to end one. Muster.Promise says what the calls do. *)

type 'a t

val create : unit -> 'a Task.t * 'a t
val resolve : 'a t -> 'a -> unit
val try_resolve : 'a t -> 'a -> bool
val fail : ?backtrace:Printexc.raw_backtrace -> 'a t -> exn -> unit
val try_fail : ?backtrace:Printexc.raw_backtrace -> 'a t -> exn -> bool
