(* Channels: parties that send, receive, select, close, or cancel another's wait. No message is
   lost or comes twice, what was not sent is not received, and nobody waits beside a partner. *)

type action =
  | Send of int * int  (** channel, message *)
  | Recv of int
  | Try_send of int * int
  | Try_recv of int
  | Select of action list  (** of sends and receives *)
  | Try_select of action list  (** of which one can be done all the while *)
  | Within of action list  (** a select, until the time is up *)
  | Tick  (** the time is up *)
  | Close of int
  | Cancel of int  (** the wait of that party, if it waits *)

type outcome = Sent of int * int | Got of int * int | Refused | Nothing | Missed | Late | Waits of action

type party = {
  script : action list;
  mutable outcomes : outcome list;  (** the last first *)
  wait : Waiter.t option Atomic.t option;  (** of those that somebody cancels *)
}

type t = { chans : int Chan.t array; parties : party array }

(* {2 What they do} *)

let case t = function
  | Send (c, v) -> Chan.send_case t.chans.(c) v (fun () -> Sent (c, v))
  | Recv c -> Chan.recv_case t.chans.(c) (fun v -> Got (c, v))
  | Try_send _ | Try_recv _ | Select _ | Try_select _ | Within _ | Tick | Close _ | Cancel _ ->
    assert false

let cancel party = Option.iter (fun wait -> Option.iter Waiter.kill (Atomic.get wait)) party.wait

let perform t action =
  match action with
  | Send (c, v) ->
    Chan.send t.chans.(c) v;
    Sent (c, v)
  | Recv c -> Got (c, Chan.recv t.chans.(c))
  | Try_send (c, v) -> if Chan.try_send t.chans.(c) v then Sent (c, v) else Nothing
  | Try_recv c -> ( match Chan.try_recv t.chans.(c) with Some v -> Got (c, v) | None -> Nothing)
  | Select cases -> Chan.select (List.map (case t) cases)
  | Try_select cases -> Option.value (Chan.try_select (List.map (case t) cases)) ~default:Missed
  | Within cases -> Chan.(select (after 1. (fun () -> Late) :: List.map (case t) cases))
  | Tick ->
    Timer.tick ();
    Nothing
  | Close c ->
    Chan.close t.chans.(c);
    Nothing
  | Cancel i ->
    cancel t.parties.(i);
    Nothing

let ends_in t action = try perform t action with Chan.Closed | Waiter.Cancelled -> Refused

let step t party action =
  let before = party.outcomes in
  party.outcomes <- Waits action :: before;
  party.outcomes <- ends_in t action :: before

let process t party () =
  let begins w = Option.iter (fun wait -> Atomic.set wait (Some w)) party.wait in
  Waiter.as_party ~begins (fun () -> List.iter (step t party) party.script)

(* {2 Afterwards} *)

let outcomes t = List.concat_map (fun p -> List.rev p.outcomes) (Array.to_list t.parties)
let sent = List.filter_map (function Sent (c, v) -> Some (c, v) | _ -> None)
let got = List.filter_map (function Got (c, v) -> Some (c, v) | _ -> None)

let rec drain chan =
  match Chan.try_recv chan with Some v -> v :: drain chan | None | (exception Chan.Closed) -> []

(* What each party waits for. *)
let wishes t =
  let of_outcome = function
    | Waits (Select cases | Within cases) -> cases
    | Waits action -> [ action ]
    | Sent _ | Got _ | Refused | Nothing | Missed | Late -> []
  in
  List.mapi
    (fun i p -> List.map (fun wish -> (i, wish)) (List.concat_map of_outcome p.outcomes))
    (Array.to_list t.parties)
  |> List.concat

let waits_beside_a_partner t capacities lengths =
  let wishes = wishes t in
  let others i f = List.exists (fun (j, wish) -> i <> j && f wish) wishes in
  let needless = function
    | i, Send (c, _) ->
      Chan.is_closed t.chans.(c)
      || lengths.(c) < capacities.(c)
      || others i (function Recv d -> c = d | _ -> false)
    | i, Recv c ->
      Chan.is_closed t.chans.(c)
      || lengths.(c) > 0
      || others i (function Send (d, _) -> c = d | _ -> false)
    | _ -> false
  in
  List.exists needless wishes

let waits_beyond_its_time t =
  let is_late = function Waits (Within _) -> Timer.now () = 1 | _ -> false in
  List.exists is_late (outcomes t)

(* Each sender's messages count upwards, so each receiver's do. *)
let out_of_order p =
  let messages = List.map snd (got (List.rev p.outcomes)) in
  List.sort Int.compare messages <> messages

let verdict t capacities () =
  let lengths = Array.map Chan.length t.chans in
  let lonely = not (waits_beside_a_partner t capacities lengths) in
  let beyond = waits_beyond_its_time t in
  (* Those that wait are woken by what is drained: their messages do not count here. *)
  let outcomes = outcomes t in
  Array.iter Chan.close t.chans;
  let left c chan = List.map (fun v -> (c, v)) (drain chan) in
  let left = List.concat (Array.to_list (Array.mapi left t.chans)) in
  let sorted = List.sort compare in
  Model.faults
    [
      ("a party waits beside a partner", not lonely);
      ("a party waits, and its time is up", beyond);
      ("messages lost, doubled or unsent", sorted (sent outcomes) <> sorted (got outcomes @ left));
      ("a wrong length", Array.fold_left ( + ) 0 lengths <> List.length left);
      ("out of order", Array.exists out_of_order t.parties);
      ("a ready case was missed", List.mem Missed outcomes);
    ]

(* {2 Models} *)

let rec name_of = function
  | Send (c, v) -> Printf.sprintf "send %d to %d" v c
  | Recv c -> Printf.sprintf "receive from %d" c
  | Try_send (c, v) -> Printf.sprintf "try to send %d to %d" v c
  | Try_recv c -> Printf.sprintf "try to receive from %d" c
  | Select cases -> "select (" ^ String.concat " or " (List.map name_of cases) ^ ")"
  | Try_select cases -> "try to " ^ name_of (Select cases)
  | Within cases -> name_of (Select cases) ^ " in time"
  | Tick -> "the time is up"
  | Close c -> Printf.sprintf "close %d" c
  | Cancel i -> Printf.sprintf "cancel %d" i

let model ?(before = []) capacities scripts =
  let cancelled =
    List.concat_map (List.filter_map (function Cancel i -> Some i | _ -> None)) scripts
  in
  let party i script =
    let wait = if List.mem i cancelled then Some (Atomic.make None) else None in
    { script; outcomes = []; wait }
  in
  let start () =
    Timer.start ();
    let chans = Array.map Chan.bounded capacities in
    let parties = Array.of_list (List.mapi party (scripts @ [ before ])) in
    let t = { chans; parties } in
    process t parties.(Array.length parties - 1) ();
    let processes = List.mapi (fun i _ -> process t parties.(i)) scripts in
    Model.{ processes; verdict = verdict t capacities }
  in
  let script list = String.concat ", then " (List.map name_of list) in
  let name =
    Printf.sprintf "channels of %s, first %s: %s"
      (String.concat ", " (List.map string_of_int (Array.to_list capacities)))
      (script before)
      (String.concat " | " (List.map script scripts))
  in
  Model.make name start

(* All sets of so many parties at one channel, the first of which may be cancelled. *)

type kind = Sends | Receives | Tries_to_send | Tries_to_receive | Selects | Closes | Cancels

let script i = function
  | Sends -> [ Send (0, i) ]
  | Receives -> [ Recv 0 ]
  | Tries_to_send -> [ Try_send (0, i) ]
  | Tries_to_receive -> [ Try_recv 0 ]
  | Selects -> [ Select [ Recv 0; Send (0, i) ] ]
  | Closes -> [ Close 0 ]
  | Cancels -> [ Cancel 0 ]

let all ?before ~capacity size =
  Model.choices size [ Sends; Receives; Selects; Tries_to_send; Tries_to_receive; Closes; Cancels ]
  |> List.filter (fun kinds -> List.hd kinds <> Cancels)
  |> List.map (fun kinds -> model ?before [| capacity |] (List.mapi script kinds))

(* {2 Parties at several channels} *)

let choose list = [ Select list ]
let try_to_choose list = [ Try_select list ]
let full = [ Send (0, -1) ]

let quick =
  all ~capacity:0 2 @ all ~capacity:1 2 @ all ~before:full ~capacity:1 2
  @ [
      model [| 1 |] [ [ Send (0, 1); Send (0, 2) ]; [ Recv 0; Recv 0 ] ];
      model [| 0 |] [ [ Send (0, 1) ]; [ Recv 0 ]; [ Cancel 0 ] ];
      model [| 0 |] [ [ Recv 0 ]; [ Send (0, 1) ]; [ Cancel 0 ] ];
      model [| 1 |] ~before:full [ [ Send (0, 1) ]; [ Recv 0 ]; [ Cancel 0 ] ];
      model [| 1 |] ~before:full [ [ Send (0, 1) ]; [ Recv 0 ]; [ Cancel 0 ]; [ Recv 0 ] ];
      (* Selects that meet, and one that meets others at both channels. *)
      model [| 0; 0 |] [ choose [ Send (0, 1); Recv 1 ]; choose [ Send (1, 2); Recv 0 ] ];
      model [| 0; 0 |] [ choose [ Recv 0; Recv 1 ]; [ Send (0, 1) ]; [ Send (1, 2) ] ];
      model [| 1; 0 |] ~before:full [ choose [ Send (0, 1); Recv 1 ]; [ Recv 0 ]; [ Recv 0 ] ];
      (* Time limits. *)
      model [| 0 |] [ [ Within [ Recv 0 ] ]; [ Tick ] ];
      model [| 0 |] [ [ Within [ Recv 0 ] ]; [ Tick ]; [ Try_send (0, 1) ] ];
      model [| 0 |] [ [ Within [ Send (0, 1) ] ]; [ Tick ]; [ Try_recv 0 ] ];
      model [| 0 |] [ [ Within [ Recv 0 ] ]; [ Tick ]; [ Cancel 0 ] ];
      model [| 0 |] [ [ Within [ Recv 0 ] ]; [ Tick ]; [ Close 0 ] ];
      model [| 0 |] [ [ Within [ Send (0, 1) ] ]; [ Within [ Recv 0 ] ]; [ Tick ] ];
      (* What can be done changes while one looks. *)
      model [| 1; 1 |] ~before:full
        [ try_to_choose [ Recv 0; Recv 1 ]; [ Send (1, 1); Try_recv 0 ] ];
      model [| 1; 1 |] ~before:full
        [ try_to_choose [ Recv 1; Recv 0 ]; [ Send (1, 1); Try_recv 0 ] ];
    ]

let slow =
  all ~capacity:0 3 @ all ~capacity:1 3 @ all ~before:full ~capacity:1 3
  @ [
      (* A buffer is repaired, and a line of one that has left is forgotten, as another comes. *)
      model [| 1 |] ~before:full [ [ Send (0, 1) ]; [ Recv 0 ]; [ Cancel 0 ]; [ Send (0, 2) ] ];
      model [| 0 |] [ [ Send (0, 1) ]; [ Cancel 0; Try_recv 0; Recv 0 ]; [ Send (0, 1) ] ];
      model [| 0 |] [ [ Recv 0 ]; [ Cancel 0; Try_send (0, 1); Send (0, 2) ]; [ Recv 0 ] ];
      model [| 0; 0 |] [ choose [ Recv 0; Recv 1 ]; [ Send (0, 1) ]; [ Cancel 0 ] ];
      model [| 0; 0 |] [ [ Within [ Recv 0; Recv 1 ] ]; [ Send (0, 1) ]; [ Tick ] ];
      model [| 0; 0 |]
        [ [ Within [ Send (0, 1); Recv 1 ] ]; choose [ Send (1, 2); Recv 0 ]; [ Tick ] ];
      model [| 0; 0 |]
        [ choose [ Send (0, 1); Recv 1 ]; choose [ Send (1, 2); Recv 0 ]; [ Cancel 0 ] ];
      model [| 0; 1 |] [ choose [ Send (0, 1); Recv 1 ]; [ Send (1, 2) ]; [ Recv 0 ] ];
      model [| 0; 0; 0 |]
        [
          choose [ Send (0, 1); Recv 1 ];
          choose [ Send (1, 2); Recv 2 ];
          choose [ Send (2, 3); Recv 0 ];
        ];
    ]
