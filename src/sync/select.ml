(* A party tries its cases, in any order. Meanwhile no other party can know of it, so it needs only
   its partner's consent. If no case can be done, it gets in line at each channel with the offers of
   one race, and waits. The party that accepts one of them does that case.

   Two that meet. A, in line at some channels, comes to the next, where B waits. To deal with B,
   both races would have to be decided at once: decide A's first, and B may be gone; decide B's
   first, and A may be. So A does not deal there. It withdraws. If another party has chosen it
   before, it is done. If not, it is in no line any more, and begins anew: it tries its cases.
   (Reppy, Russo and Xiao, Parallel Concurrent ML, 2009, have a third state, claimed, on which other
   parties spin; Go locks all the channels.) A party cannot deal with itself: while it tries its
   cases, none of its offers is open.

   No party withdraws for ever. All get in line in the order of the channels' numbers, at each
   channel in one step with all their cases there. (With a step for each case, two that both send to
   and receive from a channel could withdraw for each other for ever, as the model checker found.) A
   withdraws at channel k for an open B. When A tries again, B may be gone. If B was chosen, another
   party has got on; if it was cancelled, that happens once. Or B has withdrawn itself, at a channel
   after k, since it was in line at k, for a C in line there, and so on. The numbers grow, so one in
   this row did not withdraw. The party that withdrew for that one finds it, or it was chosen.

   No case is starved: they are shuffled, and lines are first in, first out.

   [first_ready] must not say that no case could be done while at each moment some case could. A
   message may leave a channel that was not tried yet, just when another one comes to a channel that
   was. So it tries again where a channel has changed meanwhile. Else all cases failed in states
   that stood side by side. (A state never comes back.)

   A time limit is one more offer of the race, which a timer accepts. It is no line, and nobody
   withdraws for it. It is chosen only where no other case can be done. *)

type ('a, 'b) action =
  | Receive of ('a option -> 'b)
  | Send of { message : 'a; sent : unit -> 'b; refused : unit -> 'b }

type 'b case =
  | Case : 'a Port.t * ('a, 'b) action -> 'b case
  | After : float * (unit -> 'b) -> 'b case

let receive port f = Case (port, Receive f)
let send port message ~sent ~refused = Case (port, Send { message; sent; refused })
let after seconds f = After (seconds, f)

(* Does the case if it can, and returns the function to call afterwards. *)
let try_case = function
  | After _ -> None
  | Case (port, Receive f) -> (
    match Port.receive port with
    | Message message -> Some (fun () -> f (Some message))
    | Drained -> Some (fun () -> f None)
    | Nothing -> None)
  | Case (port, Send { message; sent; refused }) -> (
    match Port.send port message with Sent -> Some sent | Refused -> Some refused | Full -> None)

let try_all cases = Array.find_map try_case cases

let unchanged = function After _ -> Fun.const true | Case (port, _) -> Port.unchanged port

(* All at one moment. *)
let rec try_at_once cases =
  let unchanged = Array.map unchanged cases in
  match try_all cases with
  | None when not (Array.for_all (fun still -> still ()) unchanged) -> try_at_once cases
  | result -> result

let shuffled list =
  let cases = Array.of_list list in
  Array.shuffle ~rand:Turn.below cases;
  cases

(* The case as an entry for its channel, which is [port], and the function to call once it has been
   accepted. *)
let entry (type a b) (port : a Port.t) offer (case : b case) : a Port.entry * (unit -> b) =
  match case with
  | After _ -> assert false
  | Case (own, action) -> (
    match (Port.same own port, action) with
    | None, _ -> assert false
    | Some Equal, Receive f ->
      let entry, cell = Port.to_receive offer in
      let message () =
        match !cell with Port.Message message -> Some message | Drained | Nothing -> None
      in
      (entry, fun () -> f (message ()))
    | Some Equal, Send { message; sent; refused } ->
      let entry, cell = Port.to_send offer message in
      (entry, fun () -> if !cell = Port.Refused then refused () else sent ()))

(* The cases of one channel, which are numbers in [cases]. *)
let line_up cases finishes race waiter group =
  match cases.(List.hd group) with
  | After _ -> assert false
  | Case (port, _) ->
    let make i =
      let entry, finish = entry port (Offer.of_race race i waiter) cases.(i) in
      finishes.(i) <- Some (finish, fun () -> Port.drop entry);
      entry
    in
    Port.line_up port (List.map make group)

(* Once a partner has chosen, it needs no more lines. *)
let rec line_up_all cases groups finishes race waiter =
  match groups with
  | group :: groups when not (Offer.is_decided race) ->
    if line_up cases finishes race waiter group then line_up_all cases groups finishes race waiter
    else if Offer.withdraw race then ignore (Waiter.grant waiter)
  | _ -> ()

(* By channel, in the order of the channels' numbers. *)
let no_channel = -1

let grouped cases =
  let number i = match cases.(i) with Case (port, _) -> Port.number port | After _ -> no_channel in
  let add i = function
    | groups when number i = no_channel -> groups
    | (j :: _ as group) :: groups when number i = number j -> (i :: group) :: groups
    | groups -> [ i ] :: groups
  in
  let by_number i j = Int.compare (number i) (number j) in
  let indices = List.init (Array.length cases) Fun.id in
  List.fold_right add (List.stable_sort by_number indices) []

(* The time limit's number in the race. *)
let by_time = max_int

let event = Event.make "Chan.select"
let wait cases groups finishes race = function
  | None -> Waiter.wait event (line_up_all cases groups finishes race)
  | Some (at, _) ->
    let forget = ref ignore in
    let register waiter =
      let limit = Offer.of_race race by_time waiter in
      forget := Task.at at (fun () -> ignore (Offer.accept limit));
      line_up_all cases groups finishes race waiter
    in
    let forget () = !forget () in
    Outcome.finally forget () (fun () -> Waiter.wait event register) ()

let drop finishes = Array.iter (Option.iter (fun (_, drop) -> drop ())) finishes

let rec first_of cases limit =
  Task.check ();
  match (try_all cases, limit) with
  | Some finish, _ -> finish
  | None, Some (at, finish) when at <= Machine.now () -> finish
  | None, _ -> (
    let race = Offer.race () and finishes = Array.map (fun _ -> None) cases in
    Outcome.finally drop finishes (fun () -> wait cases (grouped cases) finishes race limit) ();
    match (Offer.winner race, limit) with
    | Some i, Some (_, finish) when i = by_time -> finish
    | winner, _ -> (
      match Option.bind winner (Array.get finishes) with
      | Some (finish, _) -> finish
      | None -> first_of cases limit))

let rec earliest limit = function
  | [] -> limit
  | After (seconds, f) :: rest -> (
    match limit with
    | Some (least, _) when least <= seconds -> earliest limit rest
    | _ -> earliest (Some (seconds, f)) rest)
  | Case _ :: rest -> earliest limit rest

let first = function
  | [] -> invalid_arg "Muster.Chan.select: empty list"
  | list ->
    let limit = Option.map (fun (seconds, f) -> (Timer.after seconds, f)) (earliest None list) in
    first_of (shuffled list) limit ()

let first_ready list =
  match (try_at_once (shuffled list), earliest None list) with
  | Some finish, _ -> Some (finish ())
  | None, Some (seconds, finish) when seconds <= 0. -> Some (finish ())
  | None, _ -> None
