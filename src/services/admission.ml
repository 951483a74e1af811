(* A slot is the right to run jobs, one at a time, with the value that belongs to it. A runner is a
   task of the pool: it takes a slot and a job, and in the step that ends a job it takes the next
   one. All that they have to do with each other is one immutable state, changed by compare-and-set:

   - A job is in [queue], then in [running], then in neither. The party whose step takes it out of
     the queue answers it: a runner by running it, or the party that withdraws it. So it is answered
     once.
   - A slot is in [free], or a runner has it.
   - [calls] counts the runners that were sent, or have given their slot back and wait a moment for
     more. While a job is queued, all slots are taken or [calls > 0]: so no job is overlooked. A
     runner that takes a job and leaves others calls the next one, so a burst calls them one after
     the other.
   - A nested job never waits in the queue. Where no slot is free it gets an extra one.
   - The slot is free, or has passed on, before its job is answered: a submitter that sees its
     answer finds the place of its job free.
   - A state that is over stays so. The party of the step to it opens [over], after its own answer.

   A job's number is its place in the queue, plus [overtakes] for each step of its priority. So at
   most that many later jobs pass it for each step, and nothing starves.

   An asynchronous exception strikes before a step, or is raised after its act. One that strikes a
   runner leaves all that it has in its [hand], and the runner goes on. *)

type 'w slot = { index : int; mutable value : 'w option; mutable unanswered : Promise.any list }

type 'w job = {
  key : int * int;  (** its place in the queue; its number *)
  task : Promise.any;
  work : 'w slot -> unit;
  answer : unit -> unit;
}

module Keys = Map.Make (struct
  type t = int * int

  let compare (a, i) (b, j) = if a <> b then Int.compare a b else Int.compare i j
end)

type refusal = Full | Closed
type phase = Open | Closing | Cut

type 'w state = {
  free : 'w slot list;
  taken : int;
  calls : int;
  queue : 'w job Keys.t;
  queued : int;
  running : 'w job Keys.t;
  phase : phase;
}

type 'w hand = {
  mutable called : bool;  (** it has yet to take a slot *)
  mutable slot : 'w slot;
  mutable job : 'w job option;
}

type 'w start = 'w hand -> unit -> unit

type 'w runner = {
  start : 'w start;
  between : unit -> unit;
  idle : (unit -> bool) -> unit;
  struck : exn -> unit;
}

type 'w t = {
  workers : int;
  bound : int;
  slots : 'w slot list;
  state : 'w state Atomic.t;
  numbers : int Atomic.t;
  over : Latch.t;
}

let new_slot index = { index; value = None; unanswered = [] }

let create ~workers ~bound =
  let slots = List.init workers new_slot in
  let queue = Keys.empty and running = Keys.empty in
  let state = { free = slots; taken = 0; calls = 0; queue; queued = 0; running; phase = Open } in
  let numbers = Atomic.make 0 and over = Latch.create 1 in
  { workers; bound; slots; state = Atomic.make state; numbers; over }

let overtakes = 64

(* More steps than there will ever be jobs. *)
let most_steps = max_int / 2 / overtakes

let new_job t ~priority task ~work ~answer =
  let number = Atomic.fetch_and_add t.numbers 1 in
  let rank = number + (overtakes * Int.min priority most_steps) in
  { key = (rank, number); task; work; answer }

let is_extra t slot = slot.index = t.workers

(* {2 Steps} *)

let is_over s = s.phase <> Open && s.queued = 0 && Keys.is_empty s.running

(* [f] is a function from a state to the next one, and to an act of its party: it may be called
   again, and so may the act. From the step to the act it is unbroken. *)
let rec change t f =
  let s = Atomic.get t.state in
  let next, act = f s in
  let ends = is_over next && not (is_over s) in
  let finish () () =
    act ();
    if ends && Latch.count t.over > 0 then Latch.count_down t.over
  in
  if next == s || Atomic.compare_and_set t.state s next then Outcome.firmly finish () ()
  else change t f

let begun job s = { s with running = Keys.add job.key job s.running }
let dequeued job s = { s with queue = Keys.remove job.key s.queue; queued = s.queued - 1 }
let enqueued job s = { s with queue = Keys.add job.key job s.queue; queued = s.queued + 1 }

let next s =
  let take (_, job) = (job, begun job (dequeued job s)) in
  Option.map take (Keys.min_binding_opt s.queue)

let take_slot s =
  match s.free with [] -> None | slot :: free -> Some (slot, { s with free; taken = s.taken + 1 })

(* {2 To enter} *)

let call t ~start s =
  let hand = { called = true; slot = new_slot t.workers; job = None } in
  ({ s with calls = s.calls + 1 }, start hand)

let call_if_needed t ~start s =
  if s.calls = 0 && s.queued > 0 && s.free <> [] then call t ~start s else (s, ignore)

let give t job ~start s =
  let slot, s = Option.value (take_slot s) ~default:(new_slot t.workers, s) in
  (begun job s, start { called = false; slot; job = Some job })

let is_full t s = s.queued - (t.workers - s.taken) >= t.bound

let admit t job ~nested ~start =
  let result = ref (Ok ()) in
  let refuse s why = (s, fun () -> result := Error why) in
  change t (fun s ->
      match s.phase with
      | (Open | Closing) when nested && not (is_over s) -> give t job ~start s
      | Closing | Cut -> refuse s Closed
      | Open when is_full t s -> refuse s Full
      | Open -> call_if_needed t ~start (enqueued job s));
  !result

let withdraw t job answer =
  change t (fun s -> if Keys.mem job.key s.queue then (dequeued job s, answer) else (s, ignore))

(* {2 A runner} *)

let take t hand ~start =
  change t (fun s ->
      let s = { s with calls = s.calls - 1 } in
      match (next s, take_slot s) with
      | Some (job, s), Some (slot, { free; taken; _ }) ->
        let s, call_another = call_if_needed t ~start { s with free; taken } in
        let act () =
          hand.slot <- slot;
          hand.job <- Some job;
          hand.called <- false;
          call_another ()
        in
        (s, act)
      | _ -> (s, fun () -> hand.called <- false))

(* The runner that gives its slot back is one that was called, unless there is one. *)
let give_back hand s =
  let free = hand.slot :: s.free and stays = s.calls = 0 in
  let calls = s.calls + Bool.to_int stays in
  ({ s with free; taken = s.taken - 1; calls }, stays)

let finish t hand job =
  let next_of s =
    if is_extra t hand.slot then (s, None, false)
    else
      match next s with
      | Some (job, s) -> (s, Some job, false)
      | None ->
        let s, stays = give_back hand s in
        (s, None, stays)
  in
  change t (fun s ->
      let s, next, stays = next_of { s with running = Keys.remove job.key s.running } in
      let act () =
        job.answer ();
        hand.job <- next;
        hand.called <- stays
      in
      (s, act))

let has_work t () = (Atomic.get t.state).queued > 0

let rec serve t hand ({ idle; between; start; _ } as runner) =
  match hand.job with
  | Some job ->
    job.work hand.slot;
    finish t hand job;
    if Option.is_some hand.job then between ();
    serve t hand runner
  | None when hand.called ->
    if not (has_work t ()) then idle (has_work t);
    take t hand ~start;
    serve t hand runner
  | None -> ()

let rec run t hand runner =
  try serve t hand runner
  with exn ->
    runner.struck exn;
    run t hand runner

(* {2 The end} *)

(* A signal's handler may close where its thread has added a job, and has yet to send a runner: so
   one more is called. *)
let enter t phase ~start =
  change t (fun s ->
      let s = if s.phase = Cut then s else { s with phase } in
      if s.queued = 0 then (s, ignore) else call t ~start s)

let close t ~start = enter t Closing ~start

let cut t ~start =
  enter t Cut ~start;
  let { queue; running; _ } = Atomic.get t.state in
  let add _ job tasks = job.task :: tasks in
  Keys.fold add queue (Keys.fold add running [])

let join t = Latch.await t.over
let slots t = t.slots

let rec take_free t =
  let s = Atomic.get t.state in
  match s.free with
  | [] -> None
  | slot :: free when Atomic.compare_and_set t.state s { s with free } -> Some slot
  | _ :: _ -> take_free t

let busy_and_queued t =
  let s = Atomic.get t.state in
  (Keys.cardinal s.running, s.queued)
