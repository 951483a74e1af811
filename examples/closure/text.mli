(** Slices of a large text, named by their offsets: reading an index copies nothing. *)

type span = private int
(** A start and a length in one word: 31 bits each, so a text may have 2 GiB. *)

val max_length : int
(** The longest text whose parts a {!span} can name. *)

val span : start:int -> stop:int -> span
(** [span ~start ~stop] is the characters from [start] up to, not including, [stop]. *)

val none : span
(** An empty span. *)

val start : span -> int
val stop : span -> int
val is_empty : span -> bool
val sub : string -> span -> string

val is_blank : char -> bool
(** Space, tab, and both line ends. *)

val trim : string -> start:int -> stop:int -> span
(** The part between [start] and [stop] without the blanks at its ends. *)

val index : string -> start:int -> stop:int -> char -> int
(** Where the character first occurs from [start] on; [stop] if it does not before it. *)

exception Malformed of { text : string; at : int; reason : string }
(** The text breaks the format at offset [at]. *)

val malformed : string -> int -> ('a, unit, string, 'b) format4 -> 'a
(** [malformed text at "…"] raises {!Malformed}. *)

val line_of : string -> int -> int
(** The line, from 1, of an offset. *)
