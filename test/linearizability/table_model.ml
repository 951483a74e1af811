(* A table of four keys, two of which have the same hash. Its functions tell by the value how often
   the key was put there. *)

module Table = Muster.Table
open STM
include Program.Anyone

type cmd = Find of int | Find_or_add of int | Update of int | Replace of int | Remove of int | Fold

type state = (int * int) list
(** keys with their values, in order *)

type sut = (int, int) Table.t

let show_cmd = function
  | Find key -> Printf.sprintf "find_opt %d" key
  | Find_or_add key -> Printf.sprintf "find_or_add %d" key
  | Update key -> Printf.sprintf "update %d" key
  | Replace key -> Printf.sprintf "replace %d" key
  | Remove key -> Printf.sprintf "remove %d" key
  | Fold -> "fold"

let keys = 4

let arb_cmd _ =
  Program.(
    one_of show_cmd
      [
        (2, below keys (fun key -> Find key));
        (3, below keys (fun key -> Find_or_add key));
        (3, below keys (fun key -> Update key));
        (1, below keys (fun key -> Replace key));
        (2, below keys (fun key -> Remove key));
      ])

let init_state = []
let init_sut () = Table.create ~hash:(fun key -> key mod 3) ~equal:Int.equal ()
let cleanup _ = ()
let precond _ _ = true
let increment n = 1 + Option.value n ~default:10
let put key value state = List.sort compare ((key, value) :: List.remove_assoc key state)

let next_state cmd state =
  match cmd with
  | Find _ | Fold -> state
  | Find_or_add key -> if List.mem_assoc key state then state else put key key state
  | Update key -> put key (increment (List.assoc_opt key state)) state
  | Replace key -> put key 50 state
  | Remove key -> List.remove_assoc key state

let after cmd state _ = next_state cmd state

(* A function yields to other threads. *)
let yielding f x =
  Thread.yield ();
  f x

let run cmd t =
  match cmd with
  | Find key -> Res (option int, Table.find_opt t key)
  | Find_or_add key -> Res (int, Table.find_or_add t key (yielding Fun.id))
  | Update key -> Res (unit, Table.update t key (yielding (fun n -> Some (increment n))))
  | Replace key -> Res (unit, Table.replace t key 50)
  | Remove key -> Res (unit, Table.remove t key)
  | Fold ->
    let bindings = Table.fold (fun key value found -> [ key; value ] :: found) t [] in
    Res (list (list int), List.sort compare bindings)

let postcond cmd (state : state) res =
  match (cmd, res) with
  | Find key, Res ((Option Int, _), found) -> found = List.assoc_opt key state
  | Find_or_add key, Res ((Int, _), value) ->
    value = Option.value (List.assoc_opt key state) ~default:key
  | (Update _ | Replace _ | Remove _), Res ((Unit, _), ()) -> true
  | Fold, Res ((List (List Int), _), all) -> all = List.map (fun (key, value) -> [ key; value ]) state
  | _ -> false

let last = [ Fold ]
