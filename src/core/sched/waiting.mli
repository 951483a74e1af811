(** All waits of the moment, for the report of a program that hangs under [MUSTER_STATS=1]. *)

val is_on : bool

val ignored : string option
(** The variable's value, if it makes no sense. *)

val shows_forks : bool
(** Whether ThreadSanitizer's reports are to show where tasks were forked: under [MUSTER_RACE=1]. *)

val below_fork : Promise.home -> ('a -> unit) -> 'a -> unit
(** [below_fork home f x] is [f x], code of a task of that home ([Machine.below_calls]). *)

val branch : Promise.home -> (unit -> 'a) -> 'a Promise.t
(** A task as one of [Promise.nowhere], that inherits the home's values. *)

val started : Promise.home -> Promise.home
(** The home for a task that is started here: it remembers the place in the program. *)

val noted : Event.t -> Place.t option -> (unit -> unit) -> unit
(** [noted event w wait] is [wait ()], a wait of the code at that place, or of a thread outside: for
    where {!is_on}. *)

val about : Event.t -> ('a -> string) -> 'a -> Event.t
(** [about event tell it] is the event, of which the report says [tell it], too. *)

val task : _ Promise.t -> string
(** The place at which the task was started. *)

val holder : int -> string
(** The party of that number (Fiber), if it waits itself. *)

val report : unit -> string list
(** A line for each wait that has not ended, the oldest first. *)

val place_here : unit -> string
(** The innermost place of the program's own in the calls that are under way: [" at a.ml:3"], or
    [""]. *)
