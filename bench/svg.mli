(** The few SVG shapes that the picture needs. Colours and fonts are classes of one style
    sheet, with a dark version for viewers that ask for it. *)

type t
type anchor = Start | Middle | End

val text : ?anchor:anchor -> cls:string -> x:float -> y:float -> string -> t
(** [y] is the base line. *)

val bar : cls:string -> x:float -> y:float -> width:float -> height:float -> t
val vertical : cls:string -> x:float -> top:float -> bottom:float -> t

val document : width:float -> height:float -> title:string -> style:string -> t list -> string
(** [title] is what a screen reader says. *)
