(* Timers: each is done once when it is due, unless it was removed before, and none is forgotten. *)

type t = { done_ : int array; mutable early : bool }

let due = 1
let later = 1_000_000_000

let adds t i ~at () =
  ignore
    (Timer.add at (fun () ->
         t.done_.(i) <- t.done_.(i) + 1;
         if at > due then t.early <- true))

let removes t i () =
  let key = Timer.add later (fun () -> t.early <- true) in
  adds t i ~at:due ();
  Timer.remove key

let looks () = ignore (Timer.look ())

let model name ~timers processes =
  let start () =
    let t = { done_ = Array.make timers 0; early = false } in
    let verdict () =
      while Timer.look () do
        ()
      done;
      Model.faults
        [
          ("not done once", Array.exists (( <> ) 1) t.done_);
          ("done before its time", t.early);
          ("something is left", Timer.are_set ());
        ]
    in
    Model.{ processes = processes t; verdict }
  in
  Model.make ("timer: " ^ name) start

let quick =
  [
    model "one adds, two look" ~timers:1 (fun t -> [ adds t 0 ~at:due; looks; looks ]);
    model "two add, one looks" ~timers:2 (fun t -> [ adds t 0 ~at:due; adds t 1 ~at:due; looks ]);
    model "one adds and removes, one looks" ~timers:1 (fun t -> [ removes t 0; looks ]);
    model "two add and remove" ~timers:2 (fun t -> [ removes t 0; removes t 1 ]);
  ]

let slow =
  [
    model "one adds and removes, one adds, one looks" ~timers:2 (fun t ->
        [ removes t 0; adds t 1 ~at:due; looks ]);
  ]
