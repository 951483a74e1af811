(** The order of Debian version numbers, as in Debian Policy 5.6.12 and dpkg. *)

val compare : string -> string -> int
(** [compare a b] is negative, zero or positive as [a] is older than, equal to or newer
    than [b]. It is not a comparison of texts: ["1.0"], ["0:1.0"] and ["1.0-0"] are
    equal. *)

val compare_spans : string -> Text.span -> string -> Text.span -> int
(** The same on a part of each of two texts, without copying them. *)
