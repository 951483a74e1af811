(* The text that Array, Floatarray and Bytes share beside that of all arrays. *)

let init n f =
  if n < 1 || n > Sys.max_array_length then init n f else build () n init_one init_chunk f ()
