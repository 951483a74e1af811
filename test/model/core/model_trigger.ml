(* A wait of a library that knows no scheduler ends, whenever its event comes, and however often. *)

let model ~releases =
  let start () =
    let pool = World.pool 1 ~calls:false and ended = ref false in
    let { Dla.release; await } = Trigger.prepare () in
    let waits _ =
      await ();
      ended := true
    in
    let verdict () = Model.faults [ ("it waits for ever", not !ended) ] in
    Model.{ processes = World.at pool 0 waits :: List.init releases (fun _ -> release); verdict }
  in
  Model.make (Printf.sprintf "trigger that is released %d times" releases) start

let quick = [ model ~releases:1 ]
let slow = [ model ~releases:2 ]
