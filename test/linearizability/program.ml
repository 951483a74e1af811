module type Spec = sig
  include STM.Spec

  val sides : int
  val may : side:int -> cmd -> bool
  val at_rest : state -> bool
  val after : cmd -> state -> STM.res -> state
  val last : cmd list
end

module Anyone = struct
  let sides = 3
  let may ~side:_ _ = true
  let at_rest _ = true
  let last = []
end

let one_of show weighted =
  let all = List.concat_map (fun (weight, draw) -> List.init weight (fun _ -> draw)) weighted in
  QCheck.make ~print:show (fun rng -> List.nth all (Random.State.int rng (List.length all)) rng)

let always cmd _ = cmd
let below n make rng = make (Random.State.int rng n)
let nobody = -1

(* Each way to take the first element of one of the lists, but for one list; and whose it was. *)
let picks ~but lists =
  let take side list =
    match list with
    | x :: later when side <> but ->
      let rest = List.mapi (fun i other -> if i = side then later else other) lists in
      Some (side, x, rest)
    | _ -> None
  in
  List.filter_map Fun.id (List.mapi take lists)

(* Each way to leave one element of the lists out. *)
let rec without_one = function
  | [] -> []
  | x :: rest -> rest :: List.map (fun shorter -> x :: shorter) (without_one rest)

let rec with_one_shorter = function
  | [] -> []
  | list :: lists ->
    List.map (fun shorter -> shorter :: lists) (without_one list)
    @ List.map (fun lists -> list :: lists) (with_one_shorter lists)

module Make (Spec : Spec) = struct
  type t = { first : Spec.cmd list; sides : Spec.cmd list list }

  (* {2 Programs} *)

  let is_over sides = List.for_all List.is_empty sides

  (* The states at rest that one command can lead to, or one that takes two sides. *)
  let rec steps ?(but = nobody) state sides =
    let step (side, cmd, sides) =
      if not (Spec.precond cmd state) then []
      else
        let state = Spec.next_state cmd state in
        if Spec.at_rest state then [ (state, sides) ] else steps ~but:side state sides
    in
    List.concat_map step (picks ~but sides)

  let rec always_ends state sides =
    is_over sides
    ||
    let ways = steps state sides in
    (not (List.is_empty ways)) && List.for_all (fun (state, sides) -> always_ends state sides) ways

  let state_after = List.fold_left (fun state cmd -> Spec.next_state cmd state)

  let rec goes_through state = function
    | [] -> Spec.at_rest state
    | cmd :: cmds -> Spec.precond cmd state && goes_through (Spec.next_state cmd state) cmds

  let is_fit { first; sides } =
    goes_through Spec.init_state first && always_ends (state_after Spec.init_state first) sides

  let tries = 30

  let rec draw ?(tries = tries) rng state fits =
    if tries = 0 then None
    else
      let cmd = QCheck.gen (Spec.arb_cmd state) rng in
      if Spec.precond cmd state && fits cmd then Some cmd
      else draw ~tries:(tries - 1) rng state fits

  let rec alone rng state n =
    let fits cmd = Spec.at_rest (Spec.next_state cmd state) in
    match if n = 0 then None else draw rng state fits with
    | None -> []
    | Some cmd -> cmd :: alone rng (Spec.next_state cmd state) (n - 1)

  (* Commands are dealt in an order that comes to its end; others may not. *)
  let rec deal ?(but = nobody) rng state sides n =
    let side = Random.State.int rng (Array.length sides) in
    let fits cmd = side <> but && Spec.may ~side cmd in
    match if n = 0 && Spec.at_rest state then None else draw rng state fits with
    | None -> Array.to_list (Array.map List.rev sides)
    | Some cmd ->
      sides.(side) <- cmd :: sides.(side);
      let state = Spec.next_state cmd state in
      let but = if Spec.at_rest state then nobody else side in
      deal ~but rng state sides (max 0 (n - 1))

  (* Machines with two CPUs run two sides at the same time; of three, two can wait. *)
  let rec generate ?(left = 200) rng =
    let first = alone rng Spec.init_state (Random.State.int rng 5) in
    let state = state_after Spec.init_state first in
    let sides = if Random.State.bool rng then Spec.sides else 2 in
    let most = if sides = 2 then 8 else 7 in
    let n = sides + Random.State.int rng (most - sides + 1) in
    let sides = deal rng state (Array.make sides []) n in
    let sides = List.filter (fun cmds -> not (List.is_empty cmds)) sides in
    let is_small = List.length (List.concat sides) <= most + 1 in
    if left = 0 then { first; sides = [] }
    else if List.length sides >= 2 && is_small && is_fit { first; sides } then { first; sides }
    else generate ~left:(left - 1) rng

  let shrink { first; sides } yield =
    let offer program = if is_fit program then yield program in
    List.iter (fun first -> offer { first; sides }) (without_one first);
    List.iter (fun sides -> offer { first; sides }) (with_one_shorter sides)

  let lines ~first ~sides rest =
    let line name cmds = Printf.sprintf "%s: %s" name (String.concat "; " cmds) in
    let side i = line (Printf.sprintf "side %d" i) in
    String.concat "\n" ((line "first" first :: List.mapi side sides) @ rest)

  let print { first; sides } =
    let show = List.map Spec.show_cmd in
    lines ~first:(show first) ~sides:(List.map show sides) []

  let arbitrary = QCheck.make ~print ~shrink (fun rng -> generate rng)

  let arbitrary_alone =
    let print cmds = String.concat "; " (List.map Spec.show_cmd cmds) in
    let shrink cmds yield = List.iter yield (without_one cmds) in
    let shrink = QCheck.Shrink.filter (goes_through Spec.init_state) shrink in
    QCheck.make ~print ~shrink (fun rng -> alone rng Spec.init_state (Random.State.int rng 25))

  (* {2 What was seen} *)

  type seen = { cmd : Spec.cmd; res : STM.res; began : int; ended : int }

  let observe ?(pause = ignore) ~clock sut cmds =
    let tick unknown = function None -> unknown | Some c -> Atomic.fetch_and_add c 1 in
    let see cmd =
      pause ();
      let began = tick 0 clock in
      let res = Spec.run cmd sut in
      { cmd; res; began; ended = tick max_int clock }
    in
    List.map see cmds

  (* The next one of a side is the one of its commands that ended first. *)
  let all_end_after t sides =
    List.for_all (function [] -> true | next :: _ -> next.ended >= t) sides

  let rec follows ?(but = nobody) state = function
    | [] -> Spec.at_rest state
    | sides :: phases when is_over sides -> follows state phases
    | sides :: phases ->
      let next (side, seen, sides) =
        Spec.precond seen.cmd state
        && Spec.postcond seen.cmd state seen.res
        && all_end_after seen.began sides
        &&
        let state = Spec.after seen.cmd state seen.res in
        let but = if Spec.at_rest state then nobody else side in
        follows ~but state (sides :: phases)
      in
      List.exists next (picks ~but sides)

  let explains ~first ~sides ~last = follows Spec.init_state [ [ first ]; sides; [ last ] ]

  let to_string ~first ~sides ~last =
    let text { cmd; res; began; ended } =
      let span = if ended = max_int then "" else Printf.sprintf " (%d-%d)" began ended in
      Printf.sprintf "%s = %s%s" (Spec.show_cmd cmd) (STM.show_res res) span
    in
    let show = List.map text in
    lines ~first:(show first) ~sides:(List.map show sides)
      [ "last: " ^ String.concat "; " (show last) ]
end
