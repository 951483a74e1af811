module Executor_pool = Executor_pool
module Task = Muster.Task

exception Ended = Loop.Ended

let name_of = function Ended -> Some "Muster_eio.Ended" | _ -> None
let () = Printexc.register_printer name_of

type loop = Loop.t

let loop ~sw =
  let loop = Loop.create () in
  Loop.serve loop ~sw;
  loop

let on_loop = Loop.run

let run f =
  Task.check ();
  let task = Task.async f in
  Loop.join task ~cancel:(fun () -> Task.cancel task)
