(* Fork-join and tasks in the workers' own loop. Each function runs once, the join ends, and
   a worker that could do what lies there does not sleep. *)

open Slot
open Place

type t = { pool : pool; runs : int array; mutable result : (int * int, exn) result option }

exception Failed of int

let branch t ~fails i () =
  t.runs.(i) <- t.runs.(i) + 1;
  if List.mem i fails then raise (Failed i);
  i

let both t ~fails _ =
  t.result <-
    Some
      (match Fork.both (branch t ~fails 0) (branch t ~fails 1) with
      | pair -> Ok pair
      | exception exn -> Error exn)

let expected = function [] -> Ok (0, 1) | first :: _ -> Error (Failed first)

type party = Loops | Sleeps | Steals

let process pool i = function
  | Loops -> World.resident pool i
  | Sleeps -> World.sleeper pool i
  | Steals -> World.thief pool i

let spell = function Loops -> "loops" | Sleeps -> "sleeps" | Steals -> "steals"

let asleep parties =
  let sleeps i party = if party = Steals then [] else [ i + 1 ] in
  List.concat (List.mapi sleeps parties)

let spell_all parties = String.concat ", one that " (List.map spell parties)

(* If [f] fails, nobody waits to hear of [g], so [g] may be taken back and never run. *)
let model ?(fails = []) parties =
  let start () =
    let pool = World.pool (List.length parties + 1) in
    let t = { pool; runs = Array.make 2 0; result = None } in
    let others = List.mapi (fun i party -> process pool (i + 1) party) parties in
    let most_once = Array.for_all (fun n -> n <= 1) in
    let verdict () =
      Model.faults
        ([
           ("the join does not end", t.result = None);
           ("a wrong result", t.result <> Some (expected fails));
           ("a branch ran twice", not (most_once t.runs));
           ("a branch did not run", fails = [] && t.runs <> [| 1; 1 |]);
         ]
        @ World.faults pool ~asleep:(asleep parties))
    in
    Model.{ processes = World.at pool 0 (both t ~fails) :: others; verdict }
  in
  let failing = String.concat "" (List.map (Printf.sprintf ", %d fails") fails) in
  Model.make (Printf.sprintf "fork beside one that %s%s" (spell_all parties) failing) start

(* {2 Tasks from outside} *)

(* [outside]: threads that send one task each to residents. *)
let sent ~outside parties =
  let start () =
    let pool = World.pool (List.length parties + 1) in
    Atomic.set (workers pool).(0).owner 0;
    let runs = Array.make outside 0 in
    let send i () =
      let f () = runs.(i) <- runs.(i) + 1 in
      Publish.send pool Promise.(any (make pool.home f))
    in
    let others = List.mapi (fun i party -> process pool (i + 1) party) parties in
    let verdict () =
      Model.faults
        (("a task did not run once", Array.exists (( <> ) 1) runs)
        :: World.faults pool ~asleep:(asleep parties))
    in
    let nobody_yet () = () in
    Model.{ processes = (nobody_yet :: others) @ List.init outside send; verdict }
  in
  Model.make (Printf.sprintf "%d tasks sent to one that %s" outside (spell_all parties)) start

let quick =
  [
    model [ Steals ];
    model [ Steals ] ~fails:[ 0 ];
    model [ Steals ] ~fails:[ 1 ];
    model [ Steals ] ~fails:[ 0; 1 ];
    model [ Sleeps ];
    sent ~outside:1 [ Loops ];
  ]

let slow = [ model [ Loops ]; model [ Steals; Steals ]; sent ~outside:1 [ Sleeps; Sleeps ] ]
