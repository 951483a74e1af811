(** Room on the stack for the library's own frames.

    [Stack_overflow] is raised where a stack would have to grow beyond its limit. In the midst of a
    fork it would leave a task behind for which nobody waits, and in the midst of a wake-up a worker
    that sleeps for ever. So a function that changes shared state reserves room first: then the
    exception is raised before anything has changed. Room once there stays, since OCaml's stacks
    never shrink; and user code that overflows unwinds to our frame, below which the room is. *)

val reserve : unit -> unit
(** Raises [Stack_overflow] unless there is room for 256 words. Less than half of that has sufficed
    for all that the library does on a stack. *)
