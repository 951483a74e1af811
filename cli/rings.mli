(** The rings of a running program: reads them as they fill, and brings their events into the order
    of time. It holds the events of two polls, and the first {!Recording.kept} of the run. *)

type t

val open_ : dir:string -> pid:int -> since:int -> (t, string) result
(** The rings in [dir]/[pid].events, from that time on, or the reason why they cannot be read (yet). *)

val poll : t -> Account.t -> now:int -> unit
(** Reads what is there, and hands on the events that are older than any that may still come.
    [now]: the clock before it. *)

val sample : t -> at:int -> until:int -> Account.thread list -> unit
(** To be handed on between the events of [at]: see {!Account.sample}. *)

val is_replaced : t -> bool
(** The program is another one now, by [exec]. *)

val drain : t -> Account.t -> now:int -> unit
(** The last one: all that is there. *)

val lost : t -> int
(** Words of the rings that were overwritten before they were read. *)

val recorded : t -> since:int -> Recording.timeline list * (int * string) list * int
(** The timelines from that time on, the names, and the number of events left out. *)
