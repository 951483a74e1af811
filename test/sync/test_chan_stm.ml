(* Channels against a sequential model: random commands one after the other, and random commands on
   two domains, whose results must be those of some order of theirs. Commands do not wait here:
   the preconditions hold in every order. *)

module Chan = Muster.Chan
open STM

module Spec (Kind : sig
  val capacity : int option
end) =
struct
  type sut = int Chan.t

  (** The oldest first. *)
  type state = { buffer : int list; closed : bool }

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

  let init_state = { buffer = []; closed = false }

  let init_sut () =
    match Kind.capacity with Some n -> Chan.bounded n | None -> Chan.unbounded ()

  let cleanup = Chan.close
  let has_room s = match Kind.capacity with Some n -> List.length s.buffer < n | None -> true

  let arb_cmd _ =
    let open QCheck.Gen in
    let v = int_bound 99 in
    let often = [ map (fun v -> Try_send v) v; return Try_recv ] in
    let sends = [ map (fun v -> Send v) v; map (fun v -> Select_send v) v ] in
    let receives = List.map return [ Recv; Recv_opt; Select_recv ] in
    let rarely = List.map return [ Close; Is_closed; Length ] in
    let all = often @ often @ sends @ receives @ often @ sends @ receives @ rarely in
    QCheck.make ~print:show_cmd (int_bound (List.length all - 1) >>= List.nth all)

  let precond cmd s =
    match cmd with
    | Send _ | Select_send _ -> s.closed || has_room s
    | Recv | Recv_opt | Select_recv -> s.closed || s.buffer <> []
    | Try_send _ | Try_recv | Close | Is_closed | Length -> true

  let next_state cmd s =
    match cmd with
    | Send v | Try_send v | Select_send v ->
      if s.closed || not (has_room s) then s else { s with buffer = s.buffer @ [ v ] }
    | Recv | Recv_opt | Try_recv | Select_recv ->
      { s with buffer = (match s.buffer with [] -> [] | _ :: rest -> rest) }
    | Close -> { s with closed = true }
    | Is_closed | Length -> s

  let run cmd c =
    match cmd with
    | Send v -> Res (result unit exn, protect (Chan.send c) v)
    | Try_send v -> Res (result bool exn, protect (Chan.try_send c) v)
    | Select_send v ->
      Res (result unit exn, protect Chan.select [ Chan.send_case c v ignore ])
    | Recv -> Res (result int exn, protect Chan.recv c)
    | Recv_opt -> Res (option int, Chan.recv_opt c)
    | Try_recv -> Res (result (option int) exn, protect Chan.try_recv c)
    | Select_recv -> Res (result int exn, protect Chan.select [ Chan.recv_case c Fun.id ])
    | Close -> Res (unit, Chan.close c)
    | Is_closed -> Res (bool, Chan.is_closed c)
    | Length -> Res (int, Chan.length c)

  let postcond cmd s result =
    let or_closed v = if s.closed then Error Chan.Closed else Ok v in
    match (cmd, result) with
    | (Send _ | Select_send _), Res ((Result (Unit, Exn), _), r) -> r = or_closed ()
    | Try_send _, Res ((Result (Bool, Exn), _), r) -> r = or_closed (has_room s)
    | (Recv | Select_recv), Res ((Result (Int, Exn), _), r) ->
      r = (match s.buffer with v :: _ -> Ok v | [] -> Error Chan.Closed)
    | Recv_opt, Res ((Option Int, _), r) -> r = List.nth_opt s.buffer 0
    | Try_recv, Res ((Result (Option Int, Exn), _), r) ->
      r = (match s.buffer with v :: _ -> Ok (Some v) | [] -> or_closed None)
    | Close, Res ((Unit, _), ()) -> true
    | Is_closed, Res ((Bool, _), r) -> r = s.closed
    | Length, Res ((Int, _), r) -> r = List.length s.buffer
    | _ -> false
end

let cases capacity =
  let module Spec = Spec (struct
    let capacity = capacity
  end) in
  let module Sequential = STM_sequential.Make (Spec) in
  let module Parallel = STM_domain.Make (Spec) in
  let case count test name =
    let run () = QCheck.Test.check_exn (test ~count ~name) in
    Harness.case name run
  in
  let name how =
    match capacity with
    | Some n -> Printf.sprintf "bounded %d, %s" n how
    | None -> "unbounded, " ^ how
  in
  [
    case 300 Sequential.agree_test (name "one domain");
    case 8 Parallel.agree_test_par (name "two domains");
  ]

let () =
  Alcotest.run "channels against a model"
    [ ("agree", List.concat_map cases [ Some 0; Some 1; Some 3; None ]) ]
