(* Several functions as tasks of one scope. A failure of a function is the scope's only if it is
   asynchronous: Ctrl-C, or an exception that strikes a task as it stops the others. (A handler that
   forks there may be told that the task is stopped: then the party that stopped it stops these.) *)

(* One that nobody has begun, as in [Task.join]. If it waits, this does not. *)
let start task =
  Task.check ();
  Run.serve (Fiber.place ());
  Task.begin_at task (Fiber.place ())

let join task = if not (Promise.is_done task) then Task.join task

(* They begin in their order, those at least that the caller begins. *)
let run fs ~as_task =
  Scope.within (fun s ->
      let fork i f = Scope.fork_unguarded s (as_task s i (Fiber.traced ~code:0 f)) in
      let tasks = List.mapi fork fs in
      List.iter start tasks;
      List.iter join tasks;
      tasks)

(* The closures are there before the task begins: Ctrl-C that strikes it then finds the handler. *)
let guarded f failed () = Outcome.on_failure f failed

(* A failure stops the tasks to its right that have begun. A task that begins is one of these, or
   sees the failure. The call waits for the tasks to the left: their failures would come first. *)
let all fs =
  let failures = Leftmost.create () and begun = Atomic.make [] in
  let stop_right i =
    let right (j, task) = if j > i then Some task else None in
    Fiber.stop_each (List.filter_map right (Atomic.get begun))
  in
  let as_task s i f =
    let begin_it () =
      Place.change begun (List.cons (i, Fiber.get ()));
      if Leftmost.stops failures i then raise Promise.Skipped;
      f ()
    in
    guarded begin_it (fun failure ->
        Leftmost.note failures i failure;
        if failure.exn == Sys.Break then Scope.fail s failure
        else
          try stop_right i
          with exn -> if exn != Promise.Cancelled then Scope.fail s (Outcome.caught exn))
  in
  let tasks = run fs ~as_task in
  Fiber.reraise failures;
  List.map Promise.result tasks

(* The winner stops the other racers that have begun. A racer that begins is one of these, or sees
   that there is a winner. The scope of all is not stopped: that would stop the tasks that the
   winner has started, and call its hooks. Each racer has a scope of its own, for its tasks: a
   racer that awaits one of them could not be stopped otherwise. *)
let first fs =
  if fs = [] then invalid_arg "Muster.Task.first: empty list";
  let winner = Atomic.make None and racers = Atomic.make [] and failures = Leftmost.create () in
  let has_won i = match Atomic.get winner with Some (j, _) -> i = j | None -> false in
  let race i f () =
    let me = Fiber.get () in
    Place.change racers (List.cons me);
    if Option.is_some (Atomic.get winner) then raise Promise.Skipped;
    Scope.within (fun _ ->
        let v = f () in
        if Atomic.compare_and_set winner None (Some (i, v)) then
          Fiber.stop_each (List.filter (fun racer -> racer != me) (Atomic.get racers)))
  in
  let as_task s i f =
    guarded (race i f) (fun failure ->
        Leftmost.note failures i failure;
        if failure.exn == Sys.Break || has_won i then Scope.fail s failure)
  in
  let tasks = run fs ~as_task in
  match Atomic.get winner with
  | Some (_, v) -> v
  | None ->
    Fiber.reraise failures;
    List.iter Promise.result tasks;
    assert false
