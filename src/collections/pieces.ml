(* Results of any length for each element: every chunk makes an array, and these are joined in
   the order of the chunks. *)

open Muster_core
open Muster_loop
module Array = Stdlib.Array
module List = Stdlib.List

let collect code n chunk =
  let t = Atomic.make [] in
  Chunks.run code 0 (n - 1) (fun lo hi ->
      let piece = chunk lo hi in
      if Array.length piece > 0 then Place.change t (List.cons (lo, piece)));
  match Atomic.get t with
  | [ (_, piece) ] -> piece
  | pieces ->
    let by_start (a, _) (b, _) = Int.compare a b in
    Array.concat (List.map snd (List.sort by_start pieces))

(* The elements that a chunk keeps, at most [room]. *)
type 'a buffer = { mutable kept : 'a array; mutable count : int }

let buffer () = { kept = [||]; count = 0 }

let[@inline] keep buffer v ~room =
  if buffer.count = 0 then buffer.kept <- Array.make room v
  else Fresh.put buffer.kept buffer.count v;
  buffer.count <- buffer.count + 1

let contents { kept; count } = if count = Array.length kept then kept else Array.sub kept 0 count
