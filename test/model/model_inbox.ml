(* The inbox: every item is received once, and the items of one sender in their order. *)

type item = { sender : int; number : int }

let rec received_after item = function
  | [] -> []
  | first :: rest -> if first = item then rest else received_after item rest

let in_order received =
  let follows item later = later.sender <> item.sender || later.number > item.number in
  List.for_all (fun item -> List.for_all (follows item) (received_after item received)) received

let nothing = { sender = -1; number = -1 }

let rec drain inbox =
  let x = Inbox.pop inbox in
  if x == nothing then [] else x :: drain inbox

(* What a receiver got is listed newest first. *)
let verdict inbox sent received () =
  let received = List.map List.rev (Array.to_list received) in
  let left = drain inbox in
  let all = List.concat received @ left in
  Model.faults
    [
      ("lost or received twice", List.sort compare all <> List.sort compare sent);
      ("out of order", not (List.for_all (fun got -> in_order (got @ left)) received));
      ("not empty when drained", not (Inbox.is_empty inbox));
    ]

let model ~senders ~items ~receivers =
  let start () =
    let inbox = Inbox.create nothing in
    let received = Array.make (List.length receivers) [] in
    let item sender number = { sender; number } in
    let send sender () = List.iter (Inbox.push inbox) (List.init items (item sender)) in
    let receive i count () =
      for _ = 1 to count do
        let x = Inbox.pop inbox in
        if x != nothing then received.(i) <- x :: received.(i)
      done
    in
    let sent = List.concat (List.init senders (fun s -> List.init items (item s))) in
    let processes = List.init senders send @ List.mapi receive receivers in
    Model.{ processes; verdict = verdict inbox sent received }
  in
  let counts = String.concat "," (List.map string_of_int receivers) in
  let name = Printf.sprintf "inbox, %d senders of %d, receivers %s" senders items counts in
  Model.make name start

let quick =
  [
    model ~senders:2 ~items:1 ~receivers:[ 2 ];
    model ~senders:1 ~items:2 ~receivers:[ 1; 1 ];
    model ~senders:2 ~items:2 ~receivers:[ 2 ];
  ]

let slow =
  [ model ~senders:2 ~items:1 ~receivers:[ 1; 1 ]; model ~senders:1 ~items:3 ~receivers:[ 2; 1 ] ]
