(* One atomic with the queue of waiters. A waiter joins while it holds the mutex, and unlocks it
   afterwards. So the next holder of the mutex finds it in the queue. A signal takes the oldest
   waiter out and grants it. If that one is dead (its task was cancelled), the signal takes the
   next.

   At rest the queue is empty, or holds dead waiters. *)

type t = Waiter.t Fifo.t Atomic.t

let create () = Atomic.make Fifo.empty

let join t waiter =
  Duty.step t (fun queue -> (Fifo.push_live ~is_live:Waiter.is_waiting queue waiter, Done))

let rec signalling queue =
  match Fifo.pop queue with
  | Empty -> (queue, Duty.Done)
  | Oldest (waiter, queue) -> (queue, Grant { waiter; granted = Done; dead = Step signalling })

let has_waiters t = not (Fifo.is_empty (Atomic.get t))
let signal t = if has_waiters t then Duty.step t signalling
let waking_all queue = (Fifo.empty, Duty.grants (Fifo.to_list queue))
let broadcast t = if has_waiters t then Duty.step t waking_all

let retake m () = if not (Mutex.is_mine m) then Mutex.relock m

let event = Event.make "Condition.wait"
let wait_as event t m =
  if not (Mutex.is_mine m) then
    invalid_arg "Muster.Condition.wait: the mutex is not locked by this task or thread";
  let register w =
    join t w;
    Mutex.unlock m
  in
  (* One thunk for both, since an asynchronous exception may be delivered between them. *)
  let wait_and_retake () =
    Waiter.wait event register;
    Mutex.relock m
  in
  Outcome.on_failure wait_and_retake (fun _ -> Outcome.firmly retake m ())

let wait t m = wait_as event t m
