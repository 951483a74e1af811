(* [idle] holds the states that nobody uses. A user takes one out, so that nobody else finds it, and
   puts it back in the end.

   The list is immutable, and each cell is put in once, by [cons]. So a cell that was taken does not
   come back, and a compare-and-set that succeeds takes the first of the very list that it saw. *)

type 's t = { make : unit -> 's; idle : 's list Atomic.t }

let create make = { make; idle = Atomic.make [ make () ] }

let rec take t =
  match Atomic.get t.idle with
  | [] -> t.make ()
  | s :: rest as seen -> if Atomic.compare_and_set t.idle seen rest then s else take t

let use t f =
  let s = take t in
  let v = f s in
  Place.change t.idle (Stdlib.List.cons s);
  v

let idle t = Atomic.get t.idle
