(* Bytes that nobody writes any more, so that reading them as bytes and calling new bytes a string
   is safe. *)

include Stdlib.String

let bytes = Stdlib.Bytes.unsafe_of_string
let string = Stdlib.Bytes.unsafe_to_string
let init n f = string (Bytes.init n f)
let map f s = string (Bytes.map f (bytes s))
let mapi f s = string (Bytes.mapi f (bytes s))
let iter f s = Bytes.iter f (bytes s)
let iteri f s = Bytes.iteri f (bytes s)
let exists p s = Bytes.exists p (bytes s)
let for_all p s = Bytes.for_all p (bytes s)
let contains s c = Bytes.contains (bytes s) c
let index s c = Bytes.index (bytes s) c
let index_opt s c = Bytes.index_opt (bytes s) c
