(* [Inbox] against the stdlib's queue for every short sequence, and with two domains. *)

open Harness
open Unit_support
open Muster_core

type op = Push | Pop

let nothing = -1

let step inbox queue i = function
  | Push ->
    Inbox.push inbox i;
    Queue.push i queue
  | Pop -> check_int "pop" (Option.value (Queue.take_opt queue) ~default:nothing) (Inbox.pop inbox)

let every_sequence () =
  let run ops =
    let inbox = Inbox.create nothing and queue = Queue.create () in
    let step_and_look i op =
      step inbox queue i op;
      check_bool "is_empty" (Queue.is_empty queue) (Inbox.is_empty inbox)
    in
    List.iteri step_and_look ops
  in
  each_word [ Push; Pop ] ~length:14 run

(* Each domain sends its items and receives anybody's. *)

type item = { sender : int; number : int }
type exchange = { inbox : item Inbox.t; received : item list array }

let items = 50
let no_item = { sender = -1; number = -1 }

(* Newest first. *)
let trade me { inbox; received } =
  let receive () =
    let x = Inbox.pop inbox in
    if x != no_item then received.(me) <- x :: received.(me)
  in
  for number = 1 to items do
    Inbox.push inbox { sender = me; number };
    if number mod 3 > 0 then receive ()
  done

let rec drain inbox =
  let x = Inbox.pop inbox in
  if x == no_item then [] else x :: drain inbox

let rec increasing = function
  | a :: (b :: _ as rest) -> a < b && increasing rest
  | [] | [ _ ] -> true

let numbers_of sender got =
  List.filter_map (fun x -> if x.sender = sender then Some x.number else None) got

let check_received { inbox; received } =
  let left = drain inbox in
  let by_receiver = Array.to_list (Array.map (fun got -> List.rev got @ left) received) in
  let check_sender sender =
    let in_order got = increasing (numbers_of sender got) in
    check_bool "in order" true (List.for_all in_order by_receiver);
    let all = numbers_of sender (left @ received.(0) @ received.(1)) in
    check_equal "each once" (List.init items succ) (List.sort compare all)
  in
  List.iter check_sender [ 0; 1 ];
  check_bool "empty" true (Inbox.is_empty inbox)

let two_domains () =
  let make _ =
    let state = { inbox = Inbox.create { sender = -1; number = -1 }; received = [| []; [] |] } in
    { state; left = trade 0; right = trade 1 }
  in
  race ~make ~verdict:check_received ()

let () =
  Alcotest.run "inbox"
    [
      ( "inbox",
        [
          case "every sequence of 14 operations" every_sequence;
          case "two domains send and receive" two_domains;
        ] );
    ]
