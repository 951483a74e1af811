(* One operation on one collection, Muster's and the stdlib's. *)

type bar =
  | Faster of float  (** at least so many times *)
  | Slower of float  (** at most so many times *)
  | Note  (** no bar: for comparison *)

type t = {
  name : string;
  n : int;
  against : string;
  bar : bar;
  ours : unit -> unit;
  theirs : unit -> unit;
}

let ignored f () = ignore (Sys.opaque_identity (f ()))

let make name n ~against bar ~ours ~theirs =
  { name; n; against; bar; ours = ignored ours; theirs = ignored theirs }

let large = 1_000_000
let small = 100

(* The bars of every operation, by the length. *)
let bar_of n = if n = large then Faster 1.7 else Slower 1.25
