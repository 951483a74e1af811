(* Bytes that nobody writes any more, so that reading them as bytes and calling new bytes a string
   is safe. *)

module Std = Stdlib.String
include Std

let bytes = Stdlib.Bytes.unsafe_of_string
let string = Stdlib.Bytes.unsafe_to_string
let init n f = if n < 2 then Std.init n f else string (Bytes.init n f)
let map f s = if length s < 2 then Std.map f s else string (Bytes.map f (bytes s))
let mapi f s = if length s < 2 then Std.mapi f s else string (Bytes.mapi f (bytes s))

let map2 f s t =
  if length s <> length t then
    Muster_loop.Loop.invalid "String.map2" "lengths = %d and %d differ" (length s) (length t);
  string (Bytes.map2 f (bytes s) (bytes t))

let map_to_array f s = Bytes.map_to_array f (bytes s)
let iter f s = Bytes.iter f (bytes s)
let iteri f s = Bytes.iteri f (bytes s)
let fold op init s = Bytes.fold op init (bytes s)
let reduce op s = Bytes.reduce op (bytes s)
let scan op s = string (Bytes.scan op (bytes s))
let min cmp s = Bytes.min cmp (bytes s)
let max cmp s = Bytes.max cmp (bytes s)
let count p s = Bytes.count p (bytes s)
let exists p s = Bytes.exists p (bytes s)
let for_all p s = Bytes.for_all p (bytes s)
let find_opt p s = Bytes.find_opt p (bytes s)
let find_index p s = Bytes.find_index p (bytes s)
let index_opt s c = Bytes.index_opt (bytes s) c
let index s c = Bytes.index (bytes s) c
let contains s c = Bytes.contains (bytes s) c
let mem c s = Bytes.mem c (bytes s)
let filter p s = string (Bytes.filter p (bytes s))

let partition p s =
  let chosen, others = Bytes.partition p (bytes s) in
  (string chosen, string others)

let filter_map f s = string (Bytes.filter_map f (bytes s))
let concat_map f s = concat "" (Stdlib.Array.to_list (map_to_array f s))
let sort_uniq cmp s = string (Bytes.sort_uniq cmp (bytes s))

let group_by key s =
  Stdlib.Array.map (fun (key, group) -> (key, string group)) (Bytes.group_by key (bytes s))

let histogram ~bins f s =
  Groups.histogram "String" ~bins (Muster_core.Machine.code_of f) (length s) (fun t table lo hi ->
      for i = lo to hi do
        Groups.add t table (f (unsafe_get s i))
      done)
