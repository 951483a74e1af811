type 'a t = 'a Port.t

exception Closed

let bounded capacity =
  if capacity < 0 then
    invalid_arg (Printf.sprintf "Muster.Chan.bounded: capacity = %d is less than 0" capacity);
  Port.create ~capacity

let unbounded () = Port.create ~capacity:max_int
let close = Port.close
let is_closed = Port.is_closed
let length = Port.length

let try_send c message =
  match Port.send c message with Sent -> true | Full -> false | Refused -> raise Closed

let try_recv c =
  match Port.receive c with
  | Message message -> Some message
  | Nothing -> None
  | Drained -> raise Closed

(* Waits in line; the entry's cell, if a partner has accepted it. [None]: the step would succeed
   now, so it did not get in line, and tries again. (It does not take the message here: a
   cancellation before the wait returns would lose it.) *)
let wait event c make =
  let in_line = ref None in
  let register w =
    let it = make (Offer.of_race (Offer.race ()) 0 w) in
    in_line := Some it;
    if not (Port.line_up c [ fst it ]) then begin
      in_line := None;
      ignore (Waiter.grant w)
    end
  in
  let leave _ = Option.iter (fun (entry, _) -> Port.drop entry) !in_line in
  Outcome.on_failure (fun () -> Waiter.wait event register) leave;
  Option.map snd !in_line

let sending = Event.make "Chan.send"
let rec send c message =
  Task.check ();
  match Port.send c message with
  | Sent -> ()
  | Refused -> raise Closed
  | Full -> (
    match wait sending c (fun offer -> Port.to_send offer message) with
    | None -> send c message
    | Some sent -> if !sent = Refused then raise Closed)

let receiving = Event.make "Chan.recv"
let rec recv_opt c =
  Task.check ();
  match Port.receive c with
  | Message message -> Some message
  | Drained -> None
  | Nothing -> (
    match wait receiving c Port.to_receive with
    | None -> recv_opt c
    | Some { contents = Message message } -> Some message
    | Some { contents = Drained | Nothing } -> None)

let recv c = match recv_opt c with Some message -> message | None -> raise Closed

let rec iter f c =
  match recv_opt c with
  | None -> ()
  | Some message ->
    f message;
    iter f c

let rec to_seq c () =
  match recv_opt c with None -> Seq.Nil | Some message -> Seq.Cons (message, to_seq c)

type 'b case = 'b Select.case

let recv_opt_case = Select.receive
let recv_case c f = Select.receive c (function Some v -> f v | None -> raise Closed)
let send_case c message f = Select.send c message ~sent:f ~refused:(fun () -> raise Closed)

let after seconds f =
  if Float.is_nan seconds then invalid_arg "Muster.Chan.after: seconds = nan is no time";
  Select.after seconds f

let select cases = Select.first cases
let try_select cases = Select.first_ready cases
