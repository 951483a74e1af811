(* Several threads note events; the one with the smallest index stays. Code to the right of it need
   not run any more, but code to the left must. So the event that stays is the one that the
   sequential program would have found first. *)

type 'a t = (int * 'a) option Atomic.t

let create () = Atomic.make None

let rec note (t : _ t) index event =
  match Atomic.get t with
  | Some (first, _) when first <= index -> ()
  | seen -> if not (Atomic.compare_and_set t seen (Some (index, event))) then note t index event

let[@inline] stops (t : _ t) index =
  match Atomic.get t with None -> false | Some (first, _) -> first < index

let index t = Option.map fst (Atomic.get t)
let get t = Option.map snd (Atomic.get t)
