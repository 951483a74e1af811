(* Channels. [send] and [recv] wait for room, and for messages.

   Without a buffer a message takes two: [send], then the [recv] that gets it ([handed]). Which of a
   [try_] finds a partner there is up to the machine, so there is none where others wait. *)

module Chan = Muster.Chan
open STM

module Make (Kind : sig
  val capacity : int option
end) =
struct
  include Program.Anyone

  type sut = int Chan.t

  type state = { buffer : int list; closed : bool; handed : int option }
  (** The oldest first. *)

  type cmd =
    | Send of int
    | Try_send of int
    | Select_send of int
    | Recv
    | Recv_opt
    | Try_recv
    | Select_recv
    | Close
    | Is_closed
    | Length

  let show_cmd = function
    | Send v -> Printf.sprintf "send %d" v
    | Try_send v -> Printf.sprintf "try_send %d" v
    | Select_send v -> Printf.sprintf "select [send %d]" v
    | Recv -> "recv"
    | Recv_opt -> "recv_opt"
    | Try_recv -> "try_recv"
    | Select_recv -> "select [recv]"
    | Close -> "close"
    | Is_closed -> "is_closed"
    | Length -> "length"

  let init_state = { buffer = []; closed = false; handed = None }
  let meeting = Kind.capacity = Some 0
  let at_rest s = s.handed = None
  let init_sut () = match Kind.capacity with Some n -> Chan.bounded n | None -> Chan.unbounded ()
  let cleanup = Chan.close
  let has_room s = match Kind.capacity with Some n -> List.length s.buffer < n | None -> true

  let arb_cmd _ =
    let value make = Program.below 100 make in
    let tries = if meeting then 0 else 4 in
    Program.(
      one_of show_cmd
        [
          (tries, value (fun v -> Try_send v));
          (tries, always Try_recv);
          (3, value (fun v -> Send v));
          (2, value (fun v -> Select_send v));
          (2, always Recv);
          (2, always Recv_opt);
          (2, always Select_recv);
          (1, always Close);
          (1, always Is_closed);
          (1, always Length);
        ])

  let precond cmd s =
    match (cmd, s.handed) with
    | (Recv | Recv_opt | Select_recv), Some _ -> true
    | _, Some _ -> false
    | (Send _ | Select_send _), None -> meeting || s.closed || has_room s
    | (Recv | Recv_opt | Select_recv), None -> s.closed || s.buffer <> []
    | (Try_send _ | Try_recv | Close | Is_closed | Length), None -> true

  let next_state cmd s =
    match cmd with
    | (Send v | Select_send v) when meeting && not s.closed -> { s with handed = Some v }
    | Send v | Try_send v | Select_send v ->
      if s.closed || not (has_room s) then s else { s with buffer = s.buffer @ [ v ] }
    | Recv | Recv_opt | Try_recv | Select_recv ->
      let buffer = match s.buffer with [] -> [] | _ :: rest -> rest in
      { s with buffer; handed = None }
    | Close -> { s with closed = true }
    | Is_closed | Length -> s

  let after cmd s _ = next_state cmd s

  let run cmd c =
    match cmd with
    | Send v -> Res (result unit exn, protect (Chan.send c) v)
    | Try_send v -> Res (result bool exn, protect (Chan.try_send c) v)
    | Select_send v -> Res (result unit exn, protect Chan.select [ Chan.send_case c v ignore ])
    | Recv -> Res (result int exn, protect Chan.recv c)
    | Recv_opt -> Res (option int, Chan.recv_opt c)
    | Try_recv -> Res (result (option int) exn, protect Chan.try_recv c)
    | Select_recv -> Res (result int exn, protect Chan.select [ Chan.recv_case c Fun.id ])
    | Close -> Res (unit, Chan.close c)
    | Is_closed -> Res (bool, Chan.is_closed c)
    | Length -> Res (int, Chan.length c)

  let oldest s = if s.handed = None then List.nth_opt s.buffer 0 else s.handed

  let postcond cmd s result =
    let or_closed v = if s.closed then Error Chan.Closed else Ok v in
    match (cmd, result) with
    | (Send _ | Select_send _), Res ((Result (Unit, Exn), _), r) -> r = or_closed ()
    | Try_send _, Res ((Result (Bool, Exn), _), r) -> r = or_closed (has_room s)
    | (Recv | Select_recv), Res ((Result (Int, Exn), _), r) ->
      r = Option.to_result ~none:Chan.Closed (oldest s)
    | Recv_opt, Res ((Option Int, _), r) -> r = oldest s
    | Try_recv, Res ((Result (Option Int, Exn), _), r) -> (
      r = match s.buffer with v :: _ -> Ok (Some v) | [] -> or_closed None)
    | Close, Res ((Unit, _), ()) -> true
    | Is_closed, Res ((Bool, _), r) -> r = s.closed
    | Length, Res ((Int, _), r) -> r = List.length s.buffer
    | _ -> false

  let last = Length :: List.init 12 (fun _ -> Try_recv)
end
