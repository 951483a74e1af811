(* Every chunk makes a piece, and these are joined in the order of the chunks. *)

let rec collect code n chunk f s =
  if n = 0 then []
  else if Adaptive.holds_up code ~n then Adaptive.in_pool (fun () -> collect code n chunk f s)
  else if n = 1 then [ chunk f s 0 0 ]
  else begin
    let pieces = Atomic.make [] in
    let keep f s lo hi = Place.change pieces (List.cons (lo, chunk f s lo hi)) in
    Chunks.run code n keep f s;
    let by_start (a, _) (b, _) = Int.compare a b in
    List.map snd (List.sort by_start (Atomic.get pieces))
  end

let concat = function [ piece ] -> piece | pieces -> Array.concat pieces

let[@inline never] widened kept v ~room =
  let count = Array.length kept in
  let wide = Compat.make_blank (Int.min room (Int.max Tuning.first_room (4 * count))) ~like:v in
  Array.blit kept 0 wide 0 count;
  wide
