(* The sequence belongs to the holder of [turn]: it alone forces and changes [rest] and [taken].
   While an element is forced [rest] is empty, so nobody forces a sequence again that has ended, or
   has failed. Nothing else refers to elements that were taken.

   A runner begins the next one when it has its first element. So there are at most as many of them
   as elements, and where no body waits, as many as workers take up.

   A failure is that of the element which its runner was at, or was about to take: forcing may fail,
   too. The leftmost one counts. The elements to the left of it have been taken before, and still
   end; those to the right are cancelled. Runner and failure cannot miss each other: the runner
   writes its index and then looks for failures; the party of a failure notes it and then reads the
   indices. A runner that begins enters the list before it writes its index.

   To stop all is a failure to the left of all elements.

   Each call stands for a task: where calls do not wait, their runner goes behind the tasks that do,
   now and then.

   Each call is the code of a scope of its own, as the runner outlives it: a hook that the call has
   set up (Task.on_cancel) goes with it. *)

type 'a work = {
  max : int;
  code : int;
  before : int -> unit;
  call : int -> 'a -> unit;
  after : unit -> unit;
}

(* [index]: the element at which it is, or for which it waits. *)
type runner = { fiber : Promise.any; index : int Atomic.t }

type 'a t = {
  work : 'a work;
  turn : Mutex.t;
  mutable rest : 'a Seq.t;
  mutable taken : int;
  length : int Atomic.t;  (** of the sequence, once that is known *)
  failures : Outcome.failure Leftmost.t;
  runners : runner list Atomic.t;
}

let make work elements =
  {
    work;
    turn = Mutex.create ();
    rest = elements;
    taken = 0;
    length = Atomic.make max_int;
    failures = Leftmost.create ();
    runners = Atomic.make [];
  }

let stop_right t index =
  let right me = if Atomic.get me.index > index then Some me.fiber else None in
  Fiber.stop_each (List.filter_map right (Atomic.get t.runners))

(* Ctrl-C is the scope's failure, and so is an asynchronous exception that strikes here. *)
let fail t scope index (failure : Outcome.failure) =
  if failure.exn == Sys.Break then Scope.fail scope failure
  else
    try
      Leftmost.note t.failures index failure;
      stop_right t index
    with exn -> if exn != Promise.Cancelled then Scope.fail scope (Outcome.caught exn)

let stop t scope = fail t scope (-1) Promise.cancelled
let is_over t index = Leftmost.stops t.failures (index + 1) || Atomic.get t.length <= index
let reraise t = Fiber.reraise t.failures

(* {2 A runner} *)

let force t =
  let rest = t.rest in
  t.rest <- Seq.empty;
  match rest () with
  | Seq.Nil ->
    Atomic.set t.length t.taken;
    None
  | Seq.Cons (x, rest) ->
    t.rest <- rest;
    t.taken <- t.taken + 1;
    Some x

let take t me () =
  Atomic.set me.index t.taken;
  if is_over t t.taken then None
  else begin
    t.work.before t.taken;
    force t
  end

let element = Event.make "the next element of a sequence"

let rec go_on t me ~since ~begin_next =
  match Mutex.protect_as element t.turn (take t me) with
  | None -> ()
  | Some x ->
    begin_next ();
    let call = Fiber.traced ~code:t.work.code (t.work.call (Atomic.get me.index)) in
    Scope.within (fun _ -> call x);
    Yield.take_turns_if_due ~since (Place.current ());
    go_on t me ~since ~begin_next:ignore

(* An exception outside of its loop is the scope's failure. *)
let rec runner t scope number () =
  let me = { fiber = Fiber.get (); index = Atomic.make 0 } in
  let begin_next () = if number < t.work.max then ignore (fork t scope (number + 1)) in
  let run () =
    Place.change t.runners (List.cons me);
    go_on t me ~since:(ref (Machine.ticks ())) ~begin_next
  in
  let run_or_fail () =
    try run () with exn -> fail t scope (Atomic.get me.index) (Outcome.caught exn)
  in
  Outcome.finally t.work.after () run_or_fail ()

and fork t scope number = Scope.fork ~code:t.work.code scope (runner t scope number)

let start t scope = fork t scope 1
