(* Waits of libraries that know no scheduler: a trigger is a one-time event with two functions.

   {v Fresh --await--> Waited waiter --release--> Released
        \                                            /
         +-----------------release------------------+   v}

   [release] may come from any thread, before [await] or after, and again; [await] comes at most
   once. Both move the trigger by one atomic step, so either [await] finds it released, or
   [release] finds the waiter. At rest a trigger is Released, or nobody holds it.

   [Waiter.wait] finds out which thread calls. So one function serves every thread of a domain. *)

type trigger = Fresh | Waited of Waiter.t | Released

let grant waiter () = ignore (Waiter.grant waiter)

let release trigger =
  match Atomic.exchange trigger Released with
  | Waited waiter -> Outcome.firmly grant waiter ()
  | Fresh | Released -> ()

let event = Event.make "an event of another library"

let await trigger =
  let register waiter =
    if not (Atomic.compare_and_set trigger Fresh (Waited waiter)) then ignore (Waiter.grant waiter)
  in
  if Atomic.get trigger != Released then Waiter.wait event register

let prepare () : Dla.trigger =
  let trigger = Atomic.make Fresh in
  { release = (fun () -> release trigger); await = (fun () -> await trigger) }

let within f = Dla.within prepare f

