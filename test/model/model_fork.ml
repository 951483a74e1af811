(* Deque and promise together, as Fork and Worker use them: a party that offers a task takes it
   back or finds it done, thieves get entries that may be stale, the function runs once. *)

type t = { deque : int Promise.t Deque.t; runs : int array; mutable joined : int list }

let nothing = Promise.(make nowhere) (fun () -> -1)

let offer t task =
  let f () =
    t.runs.(task) <- t.runs.(task) + 1;
    task
  in
  let promise = Promise.(make nowhere) f in
  Deque.push t.deque promise;
  (task, f, promise)

(* Runs it in place, or else somebody has it and will end it. *)
let take_back t (task, f, promise) =
  Deque.drop t.deque promise;
  if Promise.claim promise then t.joined <- f () :: t.joined
  else Promise.on_done promise (fun () -> t.joined <- task :: t.joined)

let rec fork t depth task =
  if depth > 0 then begin
    let offered = offer t task in
    fork t (depth - 1) (task + 1);
    take_back t offered
  end

let thief t attempts () =
  for _ = 1 to attempts do
    let promise = Deque.steal t.deque in
    if promise != nothing then ignore (Promise.run promise)
  done

let verdict t () =
  Model.faults
    [
      ("a task did not run once", Array.exists (( <> ) 1) t.runs);
      ("a join did not end once", List.length t.joined <> Array.length t.runs);
    ]

(* [forks] are depths, one fork after the other. *)
let model ~capacity ~forks ~thieves =
  let tasks = List.fold_left ( + ) 0 forks in
  let start () =
    let deque = Deque.create ~capacity ~is_live:Promise.is_ready nothing in
    let t = { deque; runs = Array.make tasks 0; joined = [] } in
    let fork_from task depth =
      fork t depth task;
      task + depth
    in
    let owner () = ignore (List.fold_left fork_from 0 forks) in
    Model.{ processes = owner :: List.map (thief t) thieves; verdict = verdict t }
  in
  let numbers list = String.concat "," (List.map string_of_int list) in
  let name =
    Printf.sprintf "forks of depth %s, deque of %d, thieves %s" (numbers forks) capacity
      (numbers thieves)
  in
  Model.make name start

let quick =
  [
    model ~capacity:1 ~forks:[ 1; 1 ] ~thieves:[ 2 ];
    model ~capacity:1 ~forks:[ 2 ] ~thieves:[ 2 ];
    model ~capacity:2 ~forks:[ 2 ] ~thieves:[ 1; 1 ];
  ]

let slow =
  [
    model ~capacity:1 ~forks:[ 1; 1 ] ~thieves:[ 1; 1 ];
    model ~capacity:2 ~forks:[ 2; 1 ] ~thieves:[ 2 ];
    model ~capacity:2 ~forks:[ 3 ] ~thieves:[ 2 ];
  ]
