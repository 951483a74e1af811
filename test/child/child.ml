(* Programs that the tests run as processes of their own: child.exe NAME runs the program of that
   name. *)

let () = (List.assoc Sys.argv.(1) (Starts.programs @ Ends.programs @ Hangs.programs)) ()
