(* Whether the judge of programs judges rightly: what it has to refuse, and what not. *)

open Harness
open STM

(* A cell, empty or with a number. A command says what it will have seen. *)
module Cell = struct
  include Program.Anyone

  type cmd =
    | Put of int
    | Take of int  (** waits for something *)
    | Peek of int option
    | Hand of int  (** meets a [Take] *)

  type state = { here : int option; handed : bool }
  type sut = unit

  let show_cmd = function
    | Put v -> Printf.sprintf "put %d" v
    | Take v -> Printf.sprintf "take %d" v
    | Peek _ -> "peek"
    | Hand v -> Printf.sprintf "hand %d" v

  let arb_cmd _ = Program.(one_of show_cmd [ (1, always (Put 1)); (1, always (Take 1)) ])
  let init_state = { here = None; handed = false }
  let at_rest s = not s.handed
  let init_sut () = ()
  let cleanup _ = ()

  let precond cmd s =
    match cmd with Take _ -> s.here <> None | Put _ | Peek _ | Hand _ -> at_rest s

  let next_state cmd s =
    match cmd with
    | Put v -> { here = Some v; handed = false }
    | Hand v -> { here = Some v; handed = true }
    | Take _ -> init_state
    | Peek _ -> s

  let after cmd s _ = next_state cmd s

  let run cmd () =
    match cmd with
    | Put _ | Hand _ -> Res (unit, ())
    | Take v -> Res (int, v)
    | Peek seen -> Res (option int, seen)

  let postcond cmd s _ =
    match cmd with Put _ | Hand _ -> true | Take v -> s.here = Some v | Peek seen -> s.here = seen
end

module P = Program.Make (Cell)

(* One side after the other. *)
let explained ?(timed = false) ?(first = []) ?(last = []) sides () =
  let clock = if timed then Some (Atomic.make 0) else None in
  let see = P.observe ~clock () in
  let first = see first in
  let sides = List.map see sides in
  P.explains ~first ~sides ~last:(see last)

let yes name f = case name (fun () -> check_bool name true (f ()))
let no name f = case name (fun () -> check_bool name false (f ()))
let fit sides () = P.(is_fit { first = []; sides })

let judged =
  Cell.
    [
      yes "one order is enough" (explained [ [ Peek (Some 1) ]; [ Put 1 ] ]);
      no "no order" (explained [ [ Peek (Some 2) ]; [ Put 1 ] ]);
      no "a side's own order" (explained [ [ Peek (Some 1); Peek None ]; [ Put 1 ] ]);
      no "two sides that disagree"
        (explained
           [
             [ Put 1 ];
             [ Put 2 ];
             [ Peek (Some 1); Peek (Some 2) ];
             [ Peek (Some 2); Peek (Some 1) ];
           ]);
      no "what ended before" (explained ~timed:true [ [ Peek (Some 1) ]; [ Put 1 ] ]);
      yes "what ended before, in order" (explained ~timed:true [ [ Put 1 ]; [ Peek (Some 1) ] ]);
      no "what came first" (explained ~first:[ Put 1 ] [ [ Peek None ]; [ Put 2 ] ]);
      no "what is left" (explained ~last:[ Peek None ] [ [ Put 1 ] ]);
      no "a wait that ended too early" (explained [ [ Take 1; Put 1 ] ]);
      yes "two that meet" (explained [ [ Hand 1 ]; [ Take 1 ] ]);
      no "somebody between two that meet" (explained [ [ Hand 1 ]; [ Peek (Some 1) ]; [ Take 1 ] ]);
      no "one that meets itself" (explained [ [ Hand 1; Take 1 ] ]);
    ]

let fitting =
  Cell.
    [
      yes "waits for another side" (fit [ [ Take 1 ]; [ Put 1 ] ]);
      no "waits for nobody" (fit [ [ Take 1 ]; [ Peek None ] ]);
      no "waits for itself" (fit [ [ Take 1; Put 1 ] ]);
      no "ends in one order only" (fit [ [ Put 1; Put 1 ]; [ Take 1 ]; [ Take 1 ] ]);
      yes "meets another side" (fit [ [ Hand 1 ]; [ Take 1 ] ]);
      no "meets itself" (fit [ [ Hand 1; Take 1 ] ]);
    ]

let () = Alcotest.run "programs" [ ("judged", judged); ("fit", fitting) ]
