(** Speed-ups by the number of workers, beside what the laws foretell. *)

type curve = {
  name : string;
  sign : char;  (** in a terminal *)
  cls : string;  (** of {!Svg}'s style sheet *)
  speed_up : float -> float;  (** of a number of workers *)
}

type t = {
  cpus : float;
  measured : (int * float) list;  (** numbers of workers and speed-ups, in order *)
  curves : curve list;
}

val to_text : t -> string

val to_svg : title:string -> t -> string
(** The curves go on to twice as many workers as were tried. *)
