(* What is measured beside what. *)

(** [contender ~domains ~turns] prepares; what it returns does all turns, in a pool of so many
    workers. *)
type contender = domains:int -> turns:int -> unit -> unit

type t = {
  name : string;
  shape : string;
  turns : int;
  ours : contender;
  beside : contender;
  limit : float;  (** the most that ours may take, in times of the other *)
}

(** Times the stdlib's. *)
let three = 3.
