(** Finds and reads package indexes, compressed or not. *)

type t = { path : string; text : string }

exception Unreadable of { path : string; reason : string }

val on_this_machine : unit -> string list
(** The package lists that apt keeps, in the order of their names; none where there is
    no apt. *)

val read : ?most:int -> string -> t
(** [read path] is the index in a file or a pipe, whose first bytes tell whether and how it
    is compressed. A compressed one is read by the tool of its format ([gzip], [xz], [lz4],
    [zstd], [bzip2]), or, where that is missing, by apt's own helper, which reads but the first
    part of a file of several.

    {b Raises} {!Unreadable}, for a pipe with a compressed index, too, for what begins with other
    bytes than a text's, and for an index of more than [most] bytes ({!Text.max_length}), of which
    no more is read: it may have no end. *)
