(* Room on the stack for the library's own frames.

   [Stack_overflow] is raised where a stack would have to grow beyond its limit. In the midst of a
   fork it would leave a task behind that nobody waits for, and in the midst of a wake-up a worker
   that sleeps for ever. So a function that changes shared state asks for room first: then the
   exception is raised before anything has changed. Room once there stays, since OCaml's stacks
   never shrink; and user code that overflows unwinds to our frame, below which the room is.

   A function asks for its whole frame when it is entered. So this one has a frame of nearly 256 words,
   for values that are alive at the same time in a branch that is never taken: the compiler does
   not see that they are all the same. (More than 256 would be no block of the minor heap, and
   stored one by one.) *)

let[@inline never] words_256 v =
  if Sys.opaque_identity false then
    ignore
      (Sys.opaque_identity
         [| Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v;
            Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v; Sys.opaque_identity v |])
[@@ocamlformat "disable"]

(* Less than half of that has sufficed for all that the library does on a stack. *)
let[@inline] make () = words_256 0
