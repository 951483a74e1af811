(* What the copied files find as [Atomic]: each operation is a step that the checker may put
   in any order with the steps of the other processes. *)

include Dscheck.TracedAtomic
