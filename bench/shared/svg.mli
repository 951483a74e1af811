(** The few SVG shapes that pictures of figures need. Colours and fonts are classes of one style
    sheet, with a dark version for viewers that ask for it: [title], [note], [tick], [value] and
    [label] of texts, [own], [other] and [third] of what is compared, [grid] and [ideal] of lines. *)

type t
type anchor = Start | Middle | End

val text : ?anchor:anchor -> cls:string -> x:float -> y:float -> string -> t
(** [y] is the base line. *)

val bar : cls:string -> x:float -> y:float -> width:float -> height:float -> t
val vertical : cls:string -> x:float -> top:float -> bottom:float -> t
val dot : cls:string -> x:float -> y:float -> t
val path : cls:string -> (float * float) list -> t

val document : width:float -> height:float -> title:string -> t list -> string
(** [title] is what a screen reader says. *)
