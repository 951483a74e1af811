(* A task awaits another that nobody has begun, and may be cancelled meanwhile: then it is told, however long the other
   waits. The other runs once, and no worker waits for ever. *)

open Slot

exception Other_failed

type other = Ends | Fails | Waits_for_ever

let run = function Ends -> () | Fails -> raise Other_failed | Waits_for_ever -> Waiter.wait (Event.make "a test") ignore

(* A cancelled task has no value, whatever it returns. *)
let is_right other ~cancelled = function
  | Promise.Returned () -> other = Ends
  | Raised { failure = { exn = Other_failed; _ }; _ } -> other = Fails
  | Raised { failure = { exn = Promise.Cancelled; _ }; _ } -> cancelled
  | Ready _ | Running _ | Raised _ -> false

let spell = function
  | Ends -> ""
  | Fails -> " that fails"
  | Waits_for_ever -> " that waits for ever"

(* [cancelled]: by the worker of the next place, once the others are there. *)
let model ?bound ?(other = Ends) ?(cancelled = false) parties =
  let start () =
    let count = List.length parties in
    let pool = World.pool (count + if cancelled then 2 else 1) ~calls:false and runs = ref 0 in
    let awaited =
      Promise.make pool.home (fun () ->
          incr runs;
          run other)
    in
    let task = Promise.make pool.home (fun () -> Task.await awaited) in
    let works w =
      Deque.push w.deque (Promise.any awaited);
      Deque.push w.deque (Promise.any task);
      Worker.work w ~on_top:false ~until:(fun () -> Promise.is_done task)
    in
    let others = List.mapi (fun i party -> Model_fork.process pool (i + 1) party) parties in
    let verdict () =
      Model.faults
        ([
           ("a wrong end, or none", not (is_right other ~cancelled (Promise.state task)));
           ("the other ran twice", !runs > 1);
           ("the other was left out", (not cancelled) && !runs = 0);
         ]
        @ World.faults pool ~asleep:(Model_fork.asleep parties))
    in
    let processes = World.at pool 0 works :: others in
    let cancels = World.at pool (count + 1) (fun _ -> Task.cancel task) in
    Model.{ processes = (if cancelled then processes @ [ cancels ] else processes); verdict }
  in
  let name =
    Printf.sprintf "await of one%s%s%s" (spell other)
      (if parties = [] then "" else ", beside one that " ^ Model_fork.spell_all parties)
      (if cancelled then ", cancelled" else "")
  in
  Model.make ?bound name start

(* Those that wait leave stacks behind, which slow down the models after them in the same process. *)
let quick = [ model [] ]

let slow =
  [
    model [] ~cancelled:true ~other:Waits_for_ever;
    model [ Steals ];
    model [ Steals ] ~other:Fails;
    model [] ~cancelled:true;
    model [ Loops ] ~other:Fails ~bound:500_000;
    model [ Steals ] ~cancelled:true ~other:Waits_for_ever ~bound:500_000;
  ]
