(* Several cases, of which one is done.

   A party tries its cases, beginning anywhere: then nobody can know of it, and it needs nobody's consent
   but the partner's. If none can be done, it gets in line at each channel with the offers of one race,
   and waits. Whoever accepts one of them does that case.

   Two that meet. A, in line at some channels, comes to the next, where B waits. To deal with B, both
   races would have to be decided at once: decide A's first, and B may be gone; decide B's
   first, and A may be. So A does not deal there. It withdraws; if somebody has chosen it before, good; if not,
   it is in no line any more, and begins anew: it tries its cases as one whom nobody knows. (Reppy,
   Russo and Xiao, Parallel Concurrent ML, 2009, have a third state, claimed, and those who meet it spin;
   Go locks all the channels.)

   One of its own cases' partners it cannot be: [Port] leaves out offers of one race.

   Nobody withdraws for ever. All get in line in the order of the channels' numbers. A withdraws at
   channel k for an open B. When A tries again, B may be gone: was it chosen, somebody has got
   on; was it cancelled, that is once. Or B has withdrawn itself, at a channel
   after k, since it was in line at k, for a C who waits there, and so on: the numbers grow, so one
   in this row did not withdraw. Whoever withdrew for that one finds it, or it was chosen.

   No case is starved: of those that can be done at once, each comes first with a chance of at
   least one in the number of cases; and lines are first in, first out. *)

open Muster_core

type 'b case =
  | Receive : 'a Port.t * ('a option -> 'b) -> 'b case
  | Send : { port : 'a Port.t; message : 'a; sent : unit -> 'b; refused : unit -> 'b } -> 'b case

let receive port f = Receive (port, f)
let send port message ~sent ~refused = Send { port; message; sent; refused }
let number = function Receive (port, _) -> Port.number port | Send s -> Port.number s.port

(* What is left to do when the case has been done. *)
let try_case = function
  | Receive (port, f) -> (
    match Port.receive port with
    | Message message -> Some (fun () -> f (Some message))
    | Drained -> Some (fun () -> f None)
    | Nothing -> None)
  | Send { port; message; sent; refused } -> (
    match Port.send port message with
    | Sent -> Some sent
    | Refused -> Some refused
    | Full -> None)

let try_all cases =
  let n = Array.length cases in
  let rec from i left =
    if left = 0 then None
    else
      match try_case cases.(i) with
      | None -> from (if i + 1 = n then 0 else i + 1) (left - 1)
      | done_ -> done_
  in
  from (Turn.below n) n

(* Reads the cell when the offer has been accepted. *)
let line_up offer = function
  | Receive (port, f) ->
    let finish cell () =
      match !cell with Port.Message message -> f (Some message) | Drained | Nothing -> f None
    in
    Option.map finish (Port.line_up_to_receive port offer)
  | Send { port; message; sent; refused } ->
    let finish cell () = if !cell = Port.Refused then refused () else sent () in
    Option.map finish (Port.line_up_to_send port offer message)

(* Once somebody has chosen, there is no need for more. *)
let line_up_all cases order finishes race waiter =
  let rec from k =
    if k < Array.length order && not (Offer.is_decided race) then begin
      let i = order.(k) in
      finishes.(i) <- line_up (Offer.one_of race i waiter) cases.(i);
      if Option.is_some finishes.(i) then from (k + 1)
      else if Offer.withdraw race then ignore (Waiter.grant waiter)
    end
  in
  from 0

let in_order cases =
  let order = Array.init (Array.length cases) Fun.id in
  Array.stable_sort (fun i j -> Int.compare (number cases.(i)) (number cases.(j))) order;
  order

let rec first_of cases order =
  match try_all cases with
  | Some finish -> finish
  | None -> (
    let race = Offer.race () and finishes = Array.map (fun _ -> None) cases in
    Waiter.wait (line_up_all cases order finishes race);
    match Option.bind (Offer.winner race) (Array.get finishes) with
    | Some finish -> finish
    | None -> first_of cases order)

let first = function
  | [] -> invalid_arg "Muster.Chan.select: empty list"
  | list ->
    let cases = Array.of_list list in
    first_of cases (in_order cases) ()

let first_ready = function
  | [] -> None
  | list -> Option.map (fun finish -> finish ()) (try_all (Array.of_list list))
