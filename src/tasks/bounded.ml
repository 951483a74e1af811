let check fn what n =
  if n < 1 then invalid_arg (Printf.sprintf "Muster.Task.%s: %s = %d is less than 1" fn what n)

let run ~max ~code call elements =
  let t = Runners.make { max; code; before = ignore; call; after = ignore } elements in
  Scope.within (fun scope -> Task.join (Runners.start t scope));
  Runners.reraise t

let map ~max f l =
  check "map" "max" max;
  let results = Array.make (List.length l) None in
  let code = Machine.code_of f in
  run ~max ~code (fun i x -> results.(i) <- Some (f x)) (List.to_seq l);
  Array.fold_right (fun y ys -> Option.get y :: ys) results []

let each fn ~max f elements =
  check fn "max" max;
  run ~max ~code:(Machine.code_of f) (fun _ x -> f x) elements

let iter ~max f l = each "iter" ~max f (List.to_seq l)
let iter_seq ~max f s = each "iter_seq" ~max f s

(* {2 Results in order}

   Runners put results into [ready], by their indices, and the consumer takes them in order. [ready]
   and [given] belong to the holder of [lock]. [given] is the number of results that the consumer
   has taken, -1 once it has ended. An element is forced only while its index is below [given +
   window]. So at most a window of elements is forced and not taken.

   Two parties wait. The consumer waits for [filled] until its result is there, or never will be. It
   is woken by the runner that puts it there, and by each runner that ends; [Runners.is_over] holds
   before. The runner whose turn it is waits for [room]. The consumer wakes it before it takes a
   result, with the lock held: where an asynchronous exception comes in between, nothing has been
   taken, and the runner looks again. *)

module Indices = Map.Make (Int)

type 'b t = {
  lock : Mutex.t;
  filled : Condition.t;
  room : Condition.t;
  mutable ready : 'b Indices.t;
  mutable given : int;
}

let make () =
  let lock = Mutex.create () and filled = Condition.create () and room = Condition.create () in
  { lock; filled; room; ready = Indices.empty; given = 0 }

let result = Event.make "the next result of Task.with_map"
let room = Event.make "the next place in the window of Task.with_map"

let wait_for_room t window index =
  Mutex.protect t.lock (fun () ->
      while t.given >= 0 && index - t.given >= window do
        Condition.wait_as room t.room t.lock
      done)

let put t index result =
  Mutex.protect t.lock (fun () ->
      t.ready <- Indices.add index result t.ready;
      if index = t.given then Condition.broadcast t.filled)

let wake_consumer t () = Mutex.protect t.lock (fun () -> Condition.broadcast t.filled)

let check_turn t index =
  if t.given < 0 then
    invalid_arg "Muster.Task.with_map: a result was asked for after the function had ended";
  if t.given <> index then raise Seq.Forced_twice

let rec take t runners index () =
  check_turn t index;
  match Indices.find_opt index t.ready with
  | Some _ as result ->
    let others = Indices.remove index t.ready in
    Condition.signal t.room;
    t.ready <- others;
    t.given <- index + 1;
    result
  | None when Runners.is_over runners index -> None
  | None ->
    Condition.wait_as result t.filled t.lock;
    take t runners index ()

let rec results t runners index () =
  match Mutex.protect t.lock (take t runners index) with
  | Some result -> Seq.Cons (result, results t runners (index + 1))
  | None ->
    Runners.reraise runners;
    Seq.Nil

(* Runners that wait for room are stopped with the others. *)
let close t runners scope =
  let forbid () =
    t.given <- -1;
    Condition.broadcast t.filled
  in
  Outcome.finally (Runners.stop runners) scope (Mutex.protect t.lock) forbid

let with_map ?max ~window f elements consume =
  let max = Option.value max ~default:window in
  check "with_map" "window" window;
  check "with_map" "max" max;
  let t = make () in
  let call index x = put t index (f x) in
  let code = Machine.code_of f and before = wait_for_room t window and after = wake_consumer t in
  let runners = Runners.make { max; code; before; call; after } elements in
  Scope.within (fun scope ->
      ignore (Runners.start runners scope);
      let consume () = consume (results t runners 0) in
      Outcome.finally (close t runners) scope consume ())
