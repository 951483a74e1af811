(* [alone KIND]: the sequential phase in a program that does not link Muster. The phase
   before it is the same work, too, so that the heap is what it is there. *)

open Never_plain

let () =
  match List.assoc_opt Sys.argv.(1) Phase.all with
  | None -> failwith "alone: no such phase"
  | Some kind ->
    ignore (Sys.opaque_identity (Trees.build_and_drop Phase.before_trees));
    Figures.print [ ("time", [ Phase.time kind ]) ]
