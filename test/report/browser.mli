(** Chromium without a window, driven through its DevTools protocol. *)

type t

val find : unit -> string option
(** The program, where there is one. *)

val with_page : string -> string -> (t -> unit) -> unit
(** [with_page program file f] opens the file and calls [f] when it has loaded. Afterwards it fails if the
    page has raised anything, or written an error or warning to the console. *)

val look : t -> width:int -> height:int -> dark:bool -> unit
(** From now on the window is so wide and high, and the user asks for a dark page or a light one. *)

val evaluate : t -> string -> Yojson.Basic.t
(** The value of an expression of JavaScript. *)

val settle : t -> unit
(** Until the page has drawn itself anew; those below wait for it. *)

val press : t -> string -> unit
(** A key, as [Enter] or [n], where the focus is. *)

val wheel : t -> x:float -> y:float -> float -> unit
val move : t -> x:float -> y:float -> unit
val drag : t -> from:float * float -> float * float -> unit

val accessibility : t -> (string * string) list
(** The roles and names of all that a screen reader finds, in order. *)

val picture : ?whole:bool -> t -> string -> unit
(** Keeps a picture of the page, or of what is in the window, as a PNG of that name in the folder that MUSTER_PICTURES names, if it does. *)
