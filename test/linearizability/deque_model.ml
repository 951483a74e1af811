(* The deque as its users use it: an entry knows whether somebody has claimed it, and who claims it
   has it (Promise.claim). A party that gets a stale one from the deque goes on to the next.

   Side 0 owns the deque, the others steal. With one thief, and a ring that need not grow, the deque
   is linearizable ([strict]): the owner has its newest entry, the thief the oldest, and neither finds
   nothing while there is something. Else entries are out of sight for moments: while the owner moves
   them to a wider ring, while another thief is between its two steps, and in the hand of a thief
   that has taken one which the owner then claims elsewhere, as [await] does ([Claim]). What is promised
   then: an entry comes at most once, to the owner as its newest, and in the end none is lost. *)

module Deque = Muster_core.Deque
open STM

type entry = { id : int; claimed : bool Atomic.t; stolen : bool Atomic.t }
type sut = { deque : entry Deque.t; entries : entry array; mutable pushed : int }

type state = { live : int list; count : int; settled : bool }
(** [live]: not claimed, the oldest first. [settled]: all sides have ended. *)

type cmd = Push | Pop | Claim of int | Sweep | Size | Steal | Oldest | Is_empty | Settle

module Make (Kind : sig
  val thieves : int
  val capacity : int
  val strict : bool
end) =
struct
  type nonrec sut = sut
  type nonrec state = state
  type nonrec cmd = cmd

  let strict = Kind.strict
  let sides = 1 + Kind.thieves
  let at_rest _ = true

  let show_cmd = function
    | Push -> "push"
    | Pop -> "pop"
    | Claim i -> Printf.sprintf "claim %d" i
    | Sweep -> "sweep"
    | Size -> "size"
    | Steal -> "steal"
    | Oldest -> "oldest"
    | Is_empty -> "is_empty"
    | Settle -> "settle"

  let may ~side cmd =
    match cmd with
    | Push | Pop | Claim _ | Sweep | Size -> side = 0
    | Steal | Oldest -> side > 0
    | Is_empty -> side > 0 && strict
    | Settle -> false

  let arb_cmd s =
    let claim =
      if strict then Program.always Push else Program.below (max 1 s.count) (fun i -> Claim i)
    in
    Program.(
      one_of show_cmd
        [
          (6, always Push);
          (4, always Pop);
          (2, claim);
          (1, always Sweep);
          (1, always Size);
          (8, always Steal);
          (1, always Oldest);
          (1, always Is_empty);
        ])

  let init_state = { live = []; count = 0; settled = false }
  let most = 16

  let is_live entry = not (Atomic.get entry.claimed)

  let init_sut () =
    let entry id = { id; claimed = Atomic.make false; stolen = Atomic.make false } in
    let deque = Deque.create ~capacity:Kind.capacity ~is_live (entry (-1)) in
    { deque; entries = Array.init most entry; pushed = 0 }

  let cleanup _ = ()
  let precond cmd s = match cmd with Push -> s.count < most | Claim i -> i < s.count | _ -> true
  let but_newest list = List.filteri (fun i _ -> i < List.length list - 1) list
  let newest list = List.nth_opt (List.rev list) 0

  let next_state cmd s =
    match cmd with
    | Push -> { s with live = s.live @ [ s.count ]; count = s.count + 1 }
    | Pop -> { s with live = but_newest s.live }
    | Claim i -> { s with live = List.filter (( <> ) i) s.live }
    | Steal -> { s with live = (match s.live with [] -> [] | _ :: rest -> rest) }
    | Settle -> { s with settled = true }
    | Sweep | Size | Oldest | Is_empty -> s

  let after cmd s res =
    match (cmd, res) with
    | (Pop | Steal), Res ((Option Int, _), Some i) -> next_state (Claim i) s
    | (Pop | Steal), Res ((Option Int, _), None) -> s
    | _ -> next_state cmd s

  let claim entry = Atomic.compare_and_set entry.claimed false true

  let rec next_claimed take d =
    let entry = take d in
    if entry.id < 0 then None else if claim entry then Some entry.id else next_claimed take d

  let steal d =
    let entry = Deque.steal d in
    if entry.id >= 0 && Atomic.exchange entry.stolen true then
      failwith (Printf.sprintf "%d was stolen twice" entry.id);
    entry

  let push d =
    Deque.push d.deque d.entries.(d.pushed);
    d.pushed <- d.pushed + 1

  (* As Fork gives back what nobody took. *)
  let claim_and_drop d i =
    let mine = claim d.entries.(i) in
    if mine then Deque.drop d.deque d.entries.(i);
    mine

  let run cmd d =
    match cmd with
    | Push -> Res (unit, push d)
    | Pop -> Res (option int, next_claimed Deque.pop d.deque)
    | Claim i -> Res (bool, claim_and_drop d i)
    | Sweep -> Res (unit, Deque.sweep d.deque)
    | Size -> Res (int, Deque.size d.deque)
    | Steal -> Res (option int, next_claimed steal d.deque)
    | Oldest -> Res (int, (Deque.oldest_such is_live d.deque).id)
    | Is_empty -> Res (bool, Deque.is_empty d.deque)
    | Settle -> Res (unit, ())

  (* Nothing is found though there is something. *)
  let may_miss s = not (strict || s.settled)

  let postcond cmd s res =
    match (cmd, res) with
    | (Push | Sweep | Settle), Res ((Unit, _), ()) -> true
    | (Pop | Steal), Res ((Option Int, _), None) -> s.live = [] || may_miss s
    | Pop, Res ((Option Int, _), found) -> found = newest s.live
    | Steal, Res ((Option Int, _), Some i) ->
      if may_miss s then List.mem i s.live else List.nth_opt s.live 0 = Some i
    | Claim i, Res ((Bool, _), mine) -> Bool.equal mine (List.mem i s.live)
    | Size, Res ((Int, _), n) -> n >= List.length s.live || may_miss s
    (* It may see the entry of a push that has yet to store the ends. *)
    | Oldest, Res ((Int, _), i) -> (i < 0 && (s.live = [] || may_miss s)) || (i >= 0 && i <= s.count)
    | Is_empty, Res ((Bool, _), found) -> if found then s.live = [] else s.count > 0
    | _ -> false

  let last = [ Settle; Size; Steal; Steal ] @ List.init most (fun _ -> Pop)
end
