(* Results of any length for each element: every chunk makes a piece, and these are joined in the
   order of the chunks. *)

let collect code n chunk f s =
  if n = 0 then []
  else if n = 1 then [ chunk f s 0 0 ]
  else begin
    let pieces = Atomic.make [] in
    let keep f s lo hi = Place.change pieces (List.cons (lo, chunk f s lo hi)) in
    Chunks.run code n keep f s;
    let by_start (a, _) (b, _) = Int.compare a b in
    List.map snd (List.sort by_start (Atomic.get pieces))
  end

let concat = function [ piece ] -> piece | pieces -> Array.concat pieces

(* The elements that a chunk keeps. *)
type 'a buffer = { mutable kept : 'a array; mutable count : int }

let buffer () = { kept = [||]; count = 0 }

(* [v], and [room] elements in all, are the most that may follow. *)
let[@inline never] widen buffer v ~room =
  let length = Int.min (buffer.count + room) (Int.max Tuning.first_room (4 * buffer.count)) in
  let kept = Compat.make_blank length ~like:v in
  Array.blit buffer.kept 0 kept 0 buffer.count;
  buffer.kept <- kept

let[@inline] keep buffer v ~room =
  if buffer.count = Array.length buffer.kept then widen buffer v ~room;
  Fresh.put buffer.kept buffer.count v;
  buffer.count <- buffer.count + 1

let contents { kept; count } = if count = Array.length kept then kept else Array.sub kept 0 count
