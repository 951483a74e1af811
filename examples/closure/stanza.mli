(** The stanzas of a package index: deb822 text, one package after the other. *)

type t = {
  name : Name.t;
  version : Text.span;
  architecture : Text.span;
  size : int;  (** [Installed-Size] in KiB; 0 where the index does not say. *)
  depends : Text.span;
  pre_depends : Text.span;
  provides : Text.span;
  conflicts : Text.span;
  breaks : Text.span;
}
(** The spans lie in [name.text]. A field that is missing is empty. *)

type chunk = private { text : string; start : int; stop : int }
(** Some whole stanzas. *)

val whole : string -> chunk

val cut : size:int -> string -> chunk array
(** Cuts a text at blank lines into chunks of about [size] bytes. *)

val parse : chunk -> t array
(** The chunk's stanzas in order.

    {b Raises} {!Text.Malformed} if a line is neither a field nor the continuation of
    one, or a stanza has no name or no version, or gives a field twice. *)
