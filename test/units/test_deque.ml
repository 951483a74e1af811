(* [Deque] against a model for every short sequence of operations, and with a thief. *)

open Harness
open Unit_support
open Muster_core

(* {2 Every sequence}

   The model: live entries, the oldest first. An entry whose task was run in place is dead; the
   deque drops it at once only at its ends. *)

type op = Push | Pop | Drop_newest | Drop_oldest | Sweep | Steal | Move_in | Retire of int
type model = { live : int list; pushed : int }

let nothing = -1
let newest model = model.pushed - 1
let last list = List.nth list (List.length list - 1)
let without_last list = List.filteri (fun i _ -> i < List.length list - 1) list
let take_newest m = { m with live = without_last m.live }
let push m = { live = m.live @ [ m.pushed ]; pushed = m.pushed + 1 }
let pop m = if m.live = [] then (nothing, m) else (last m.live, take_newest m)
let drop m x = if m.live <> [] && last m.live = x then take_newest m else m
let steal m = match m.live with x :: live -> (x, { m with live }) | [] -> (nothing, m)

type sut = { deque : int Deque.t; dead : bool array }

let rec next_live dead take deque =
  let x = take deque in
  if x <> nothing && dead.(x) then next_live dead take deque else x

(* The nth oldest is run in place. *)
let retire { deque; dead } m n =
  match List.nth_opt m.live n with
  | None -> m
  | Some x ->
    dead.(x) <- true;
    Deque.retire deque x;
    { m with live = List.filter (( <> ) x) m.live }

let step ({ deque; dead } as sut) m op =
  let same what (expected, m) actual =
    check_int what expected actual;
    m
  in
  match op with
  | Push ->
    Deque.push deque m.pushed;
    push m
  | Pop -> same "pop" (pop m) (next_live dead Deque.pop deque)
  | Drop_newest ->
    Deque.drop deque (newest m);
    drop m (newest m)
  | Drop_oldest ->
    Deque.drop deque 0;
    drop m 0
  | Sweep ->
    Deque.sweep deque;
    m
  | Steal -> same "steal" (steal m) (next_live dead Deque.steal deque)
  | Move_in ->
    Deque.move_in deque;
    m
  | Retire n -> retire sut m n

let step_and_look ({ deque; dead } as sut) m op =
  let m = step sut m op in
  let live = List.length m.live and size = Deque.size deque in
  check_bool "size" true (if Array.mem true dead then size >= live else size = live);
  check_bool "is_empty" (size = 0) (Deque.is_empty deque);
  check_int "oldest" (match m.live with x :: _ -> x | [] -> nothing)
    (Deque.oldest_such (fun x -> List.mem x m.live) deque);
  let is_odd x = x land 1 = 1 && List.mem x m.live in
  let oldest_odd = Option.value (List.find_opt is_odd m.live) ~default:nothing in
  check_int "oldest of some kind" oldest_odd (Deque.oldest_such is_odd deque);
  m

let follow ~capacity ops =
  let dead = Array.make (List.length ops) false in
  let deque = Deque.create ~capacity ~is_live:(fun x -> not dead.(x)) nothing in
  let empty = { live = []; pushed = 0 } in
  ignore (List.fold_left (step_and_look { deque; dead }) empty ops)

let every_sequence ~capacity () =
  let length = 7 in
  each_word
    [ Push; Pop; Drop_newest; Drop_oldest; Sweep; Steal ]
    ~length (follow ~capacity)

(* Only pushes and takes, so that the ring goes round and grows. *)
let every_long_sequence ~capacity () = each_word [ Push; Pop; Steal ] ~length:11 (follow ~capacity)

let every_sequence_with_moves ~capacity () =
  each_word [ Push; Pop; Steal; Move_in ] ~length:7 (follow ~capacity)

let every_sequence_in_place ~capacity () =
  each_word [ Push; Pop; Steal; Retire 0; Retire 1 ] ~length:8 (follow ~capacity)

let always _ = true

(* [n] odd ones above [below] even ones, the oldest first; [disturb] is done at each. *)
let newest_in_order ~capacity disturb () =
  let check below n =
    let dead = Array.make 1_000 false in
    let deque = Deque.create ~capacity ~is_live:(fun x -> not dead.(x)) nothing in
    List.iter (fun i -> Deque.push deque (2 * i)) (List.init below Fun.id);
    List.iter (fun i -> Deque.push deque ((2 * i) + 1)) (List.init n Fun.id);
    let got = ref [] in
    let visit x =
      got := x :: !got;
      dead.(x) <- true;
      disturb deque x
    in
    let is_it x = x land 1 = 1 && x < 900 && not dead.(x) in
    Deque.each_oldest_first is_it visit deque;
    check_equal "in order" (List.init n (fun i -> (2 * i) + 1)) (List.rev !got)
  in
  List.iter (fun below -> List.iter (check below) (List.init 20 Fun.id)) [ 0; 1; 2; 9 ]

let leave _ _ = ()

(* Enough for other rings. *)
let push_some deque x =
  for i = 1 to 1 + (x * 7 mod 40) do
    Deque.push deque (900 + i)
  done

let push_and_pop deque x =
  push_some deque x;
  while Deque.peek deque >= 900 do
    ignore (Deque.pop deque)
  done;
  Deque.retire deque x

let grows_far () =
  let deque = Deque.create ~capacity:1 ~is_live:always nothing in
  for i = 0 to 9_999 do
    Deque.push deque i
  done;
  check_int "size" 10_000 (Deque.size deque);
  for i = 0 to 4_999 do
    check_int "steal" i (Deque.steal deque);
    check_int "pop" (9_999 - i) (Deque.pop deque)
  done;
  check_int "pop" nothing (Deque.pop deque)

let swept_entries_can_be_collected () =
  let nothing = ref 0 in
  let deque = Deque.create ~capacity:4 ~is_live:always nothing in
  let kept = Weak.create 3 in
  let fill i =
    let entry = ref i in
    Weak.set kept i (Some entry);
    Deque.push deque entry
  in
  List.iter fill [ 0; 1; 2 ];
  for _ = 0 to 2 do
    ignore (Deque.pop deque)
  done;
  Deque.sweep deque;
  Gc.full_major ();
  List.iter (fun i -> check_bool "collected" false (Weak.check kept i)) [ 0; 1; 2 ];
  check_int "size" 0 (Deque.size deque)

(* A burst, then a window of 4 below a task that nobody awaits: in both orders. *)
let keeps_little () =
  let with_order next =
    let dead = Array.make 60_000 false in
    let deque = Deque.create ~capacity:8 ~is_live:(fun x -> not dead.(x)) nothing in
    let pushed = ref 0 and window = ref [] in
    let push () =
      Deque.push deque !pushed;
      window := !window @ [ !pushed ];
      incr pushed
    in
    let retire () =
      let x = next !window in
      dead.(x) <- true;
      Deque.retire deque x;
      window := List.filter (( <> ) x) !window
    in
    for _ = 1 to 1_000 do
      push ()
    done;
    while !window <> [] do
      retire ()
    done;
    Deque.push deque !pushed;
    incr pushed;
    while !pushed < 60_000 do
      push ();
      if List.length !window > 4 then retire ()
    done;
    check_bool "few entries" true (Deque.size deque <= 64);
    check_bool "a narrow ring" true (Obj.reachable_words (Obj.repr deque) <= 60_500)
  in
  List.iter with_order [ List.hd; last ]

(* {2 Interrupted}

   A handler uses the deque while a push makes it grow, at each of the points where growth
   allocates. No entry may be lost, or come twice. *)

type handled = { grown : int Deque.t; mutable next : int; mutable got : int list }

(* One that was retired may come once more, as a stale entry. *)
let receive t x = if x <> nothing && not (List.mem x t.got) then t.got <- x :: t.got

(* The first that has not come, from the middle on. *)
let run_in_place ~capacity t =
  let from_middle = List.init (t.next - (capacity / 2)) (fun i -> i + (capacity / 2)) in
  let run x =
    t.got <- x :: t.got;
    Deque.retire t.grown x
  in
  Option.iter run (List.find_opt (fun x -> not (List.mem x t.got)) from_middle)

let handle ~capacity t = function
  | Push ->
    t.next <- t.next + 1;
    Deque.push t.grown (t.next - 1)
  | Pop -> receive t (Deque.pop t.grown)
  | Steal -> receive t (Deque.steal t.grown)
  | Drop_newest | Drop_oldest -> ()
  | Sweep -> Deque.sweep t.grown
  | Move_in -> Deque.move_in t.grown
  | Retire _ -> run_in_place ~capacity t

let interrupted ~capacity ~length ~prepare work =
  let handle = handle ~capacity in
  let run ops =
    let rec at n =
      let rec t = lazy { grown = Deque.create ~capacity ~is_live nothing; next = 0; got = [] }
      and is_live x = not (List.mem x (Lazy.force t).got) in
      let t = Lazy.force t in
      prepare t;
      let happened = at_allocation n (fun () -> List.iter (handle t) ops) (fun () -> work t) in
      while Deque.size t.grown > 0 do
        handle t Pop
      done;
      check_equal "each once" (List.init t.next Fun.id) (List.sort compare t.got);
      if happened then at (n + 1)
    in
    at 1
  in
  each_word [ Push; Pop; Steal; Sweep; Retire 0 ] ~length run

let interrupted_growth ~capacity () =
  let prepare t =
    for _ = 1 to capacity do
      handle ~capacity t Push
    done
  in
  interrupted ~capacity ~length:4 ~prepare (fun t -> handle ~capacity t Push)

(* Of 64 entries 3 are left, and after so many further pushes, each of which is popped, the next one
   makes the ring narrower. *)
let few_of_many deque =
  List.iter (Deque.push deque) (List.init 64 Fun.id);
  List.init 61 (fun _ -> Deque.pop deque)

let push_and_pop_other deque =
  Deque.push deque 1_000_000;
  ignore (Deque.pop deque)

let pushes_until_narrow () =
  let deque = Deque.create ~capacity:2 ~is_live:always nothing in
  ignore (few_of_many deque);
  let rec go n =
    let before = Gc.minor_words () in
    push_and_pop_other deque;
    (* Only a new ring, of 32 slots, takes as many words. *)
    if Gc.minor_words () -. before > 30. then n else go (n + 1)
  in
  go 0

let interrupted_narrowing () =
  let pushes = pushes_until_narrow () in
  let prepare t =
    t.next <- 64;
    t.got <- few_of_many t.grown;
    List.iter (fun _ -> push_and_pop_other t.grown) (List.init pushes Fun.id)
  in
  interrupted ~capacity:2 ~length:3 ~prepare (fun t -> push_and_pop_other t.grown)

(* {2 Against a thief}

   An entry may reach the owner and the thief; its claim decides. Both go on until all are
   claimed, so an entry that is hidden from both would be a hang: hence the deadline. *)

type entry = { claims : int Atomic.t; claimed : bool Atomic.t }
type fight = { deque : entry Deque.t; entries : entry array; over : bool Atomic.t }

let entry () = { claims = Atomic.make 0; claimed = Atomic.make false }
let none = entry ()
let claim x = if x != none && Atomic.compare_and_set x.claimed false true then Atomic.incr x.claims
let is_claimed x = Atomic.get x.claimed

(* Pops what is left, and waits for what the thief has in hand. *)
let finish { deque; entries; over } =
  let patience = Unix.gettimeofday () +. 5. in
  while (not (Array.for_all is_claimed entries)) && Unix.gettimeofday () < patience do
    claim (Deque.pop deque)
  done;
  Atomic.set over true

let owner random ~limit ({ deque; entries; _ } as fight) =
  let take x =
    Deque.drop deque x;
    claim x
  in
  let move x =
    while Deque.size deque >= limit do
      claim (Deque.pop deque)
    done;
    Deque.push deque x;
    match Random.State.int random 8 with
    | 0 -> Deque.sweep deque
    | 1 | 2 -> claim (Deque.pop deque)
    | 3 | 4 -> take x
    | _ -> ()
  in
  Array.iter move entries;
  finish fight

let thief { deque; over; _ } =
  while not (Atomic.get over) do
    claim (Deque.steal deque)
  done

let fight random ~capacity ~limit _ =
  let entries = Array.init (1 + Random.State.int random 40) (fun _ -> entry ()) in
  let is_live x = not (Atomic.get x.claimed) in
  let deque = Deque.create ~capacity ~is_live none in
  let state = { deque; entries; over = Atomic.make false } in
  { state; left = owner random ~limit; right = thief }

let claimed_once { deque; entries; _ } =
  each_once "claims" (Array.map (fun x -> x.claims) entries);
  (* A slot from which a thief has taken may be within the ends again: thieves pass it over. *)
  check_bool "nothing left" true (Deque.steal deque == none);
  Deque.sweep deque;
  check_bool "empty after the sweep" true (Deque.is_empty deque);
  check_int "size" 0 (Deque.size deque)

(* With a limit the ring stays small and goes round often; without one it grows. *)
let stress ~capacity ~limit () =
  let random = Random.State.make [| capacity; limit |] in
  race ~seconds:0.4 ~make:(fight random ~capacity ~limit) ~verdict:claimed_once ()

let per_capacity name check =
  List.map (fun n -> case (Printf.sprintf "%s, capacity %d" name n) (check n)) [ 1; 2; 4 ]

let () =
  Alcotest.run "deque"
    [
      ( "every sequence",
        per_capacity "every sequence of 7 operations" (fun n -> every_sequence ~capacity:n)
        @ per_capacity "every sequence of 11 pushes and takes" (fun n ->
              every_long_sequence ~capacity:n)
        @ per_capacity "every sequence with moves to a larger ring" (fun n ->
              every_sequence_with_moves ~capacity:n)
        @ per_capacity "every sequence with tasks run in place" (fun n ->
              every_sequence_in_place ~capacity:n) );
      ( "the newest ones in their order",
        per_capacity "up to 20 entries" (fun n -> newest_in_order ~capacity:n leave)
        @ per_capacity "pushes in between" (fun n -> newest_in_order ~capacity:n push_some)
        @ per_capacity "pushes and pops in between" (fun n ->
              newest_in_order ~capacity:n push_and_pop) );
      ( "limits",
        [
          case "a deque grows to 10,000 entries" grows_far;
          case "swept entries can be collected" swept_entries_can_be_collected;
          case "a deque keeps few stale entries, and a narrow ring" keeps_little;
        ] );
      ( "interrupted as it grows",
        per_capacity "a growth is interrupted by 4 operations" (fun n -> interrupted_growth ~capacity:n) );
      ("interrupted as it narrows", [ case "by 3 operations" interrupted_narrowing ]);
      ( "with a thief",
        per_capacity "a thief beside a deque of fixed size" (fun n -> stress ~capacity:n ~limit:n)
        @ per_capacity "a thief beside a deque that grows" (fun n ->
              stress ~capacity:n ~limit:max_int) );
    ]
