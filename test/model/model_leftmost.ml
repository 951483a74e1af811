(* Leftmost: of events noted in any order the one with the smallest index stays, and what it
   stops stays stopped. *)

let model indices =
  let start () =
    let leftmost = Leftmost.create () in
    let restarted = ref false in
    let note i index () = Leftmost.note leftmost index (i, index) in
    let watch () =
      let stopped = Leftmost.stops leftmost 2 in
      if stopped && not (Leftmost.stops leftmost 2) then restarted := true
    in
    let least = List.fold_left min max_int indices in
    let verdict () =
      Model.faults
        [
          ("not the smallest", Option.map snd (Leftmost.get leftmost) <> Some least);
          ("stopped and then not", !restarted);
        ]
    in
    Model.{ processes = watch :: List.mapi note indices; verdict }
  in
  let name = "leftmost of " ^ String.concat ", " (List.map string_of_int indices) in
  Model.make name start

let quick = List.map model [ [ 1; 0 ]; [ 1; 1 ]; [ 3; 0; 1 ] ]
let slow = List.map model (Model.choices 3 [ 0; 1; 2; 3 ])
