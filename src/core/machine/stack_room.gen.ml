(* Writes stack_room.ml: a function whose frame has nearly 256 words, for values that are alive at
   the same time in a branch that is never taken. The compiler does not see that they are all the
   same. (More than 256 would be no block of the minor heap, and stored one by one.) *)

let words = 256

let () =
  print_string "let[@inline never] words v =\n  if Sys.opaque_identity false then\n";
  print_string "    ignore (Sys.opaque_identity [|";
  for _ = 1 to words do
    print_string "\n      Sys.opaque_identity v;"
  done;
  print_string "|])\n\nlet[@inline] reserve () = words 0\n"
