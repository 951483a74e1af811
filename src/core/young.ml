(* A variable that its owner sets often, to values that are mostly younger than the last minor collection.

   A block of the major heap has to be remembered when it comes to hold such a value: each write is a call of the
   runtime (caml_modify), and a task that is awaited in place needs four. A block of the minor heap needs nothing: the
   next collection looks at all of them that are alive. So the value lies in a cell of the minor heap. A collection moves
   it to the major heap; then the next write makes a new one.

   Whether it was moved tells its address, which is noted as a number when it is made, before anything can move it. Every
   minor collection moves it, out of the minor heaps. Nothing moves it again: it is too large for a compaction, which could
   bring it back to where it was once the minor heaps are elsewhere. *)

type 'a t = { mutable cell : 'a ref; mutable address : int; mutable moment : int }

external renew : 'a t -> 'a -> unit = "muster_renew"
(** Sets it to a new cell. Takes no signals: who sets it may be in the midst of something that no exception must cut
    short. *)

let make v = Compat.padded { cell = ref v; address = 0; moment = 0 }
let[@inline] get t = !(t.cell)

(* How many cells it has had. The same after two writes: between them was no minor collection. (The address does not tell
   that: two cells may have been in one place, one after the other.) *)
let[@inline] moment t = t.moment

let[@inline] set t v =
  let cell = t.cell in
  if Compat.where cell = t.address then Compat.set_young cell v else renew t v
