(* A trigger is a one-time event: a promise. [release] may come from any thread, before [await] or
   after, and again. [Waiter.wait] finds out which thread calls, so one function serves every thread
   of a domain. *)

let event = Event.make "an event of another library"

let prepare () : Dla.trigger =
  let p = Promise.started Promise.nowhere in
  let release () = ignore (Promise.try_resolve p (Returned ())) in
  { release; await = (fun () -> if not (Promise.is_done p) then Waiter.wait_for event p) }

let within f = Dla.within prepare f
