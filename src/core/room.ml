(* Room on the stack for the library's own frames.

   [Stack_overflow] is raised where a stack would have to grow beyond its limit. In the midst of a
   fork it would leave a task behind that nobody waits for, and in the midst of a wake-up a worker
   that sleeps for ever. So a function that changes shared state asks for room first: then the
   exception is raised before anything has changed. Room once there stays, since OCaml's stacks
   never shrink; and user code that overflows unwinds to our frame, below which the room is.

   A function asks for its whole frame when it is entered. So this one has a frame of 256 words, for
   results that are alive at the same time in a branch that is never taken. *)

let[@inline never] words_256 f =
  if Sys.opaque_identity false then
    ignore
      (Sys.opaque_identity
         [| f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f ();
            f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f (); f () |])

let zero () = 0

(* Less than half of that has sufficed for all that the library does on a stack. *)
let[@inline] make () = words_256 zero
