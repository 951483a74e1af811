(* Parties that wait for each other: at barriers, conditions, channels. Ours are tasks. Those of the
   stdlib block: they are domains of their own, or threads where there is one domain. *)

module type Sync = sig
  module Mutex : sig
    type t

    val create : unit -> t
    val protect : t -> (unit -> 'a) -> 'a
  end

  module Condition : sig
    type t

    val create : unit -> t
    val wait : t -> Mutex.t -> unit
    val signal : t -> unit
    val broadcast : t -> unit
  end

  val start : domains:int -> (unit -> unit) -> unit -> unit
  (** Starts a party; the result waits for its end. *)
end

module Ours = struct
  module Mutex = Muster.Mutex
  module Condition = Muster.Condition

  let start ~domains:_ f =
    let task = Muster.Task.async f in
    fun () -> Muster.Task.await task
end

module Theirs = struct
  module Mutex = Stdlib.Mutex
  module Condition = Stdlib.Condition

  let start ~domains f =
    if domains = 1 then
      let thread = Thread.create f () in
      fun () -> Thread.join thread
    else
      let domain = Domain.spawn f in
      fun () -> Domain.join domain
end

(* {2 Made of a mutex and conditions} *)

type channel = { send : int -> unit; recv : unit -> int }
type box = Free | Full of int | Taken

module Made (Sync : Sync) = struct
  open Sync

  let waiting_while m c is_so f =
    Mutex.protect m (fun () ->
        while is_so () do
          Condition.wait c m
        done;
        f ())

  let barrier parties =
    let m = Mutex.create () and c = Condition.create () and here = ref 0 and round = ref 0 in
    fun () ->
      Mutex.protect m @@ fun () ->
      let mine = !round in
      incr here;
      if !here < parties then
        while !round = mine do
          Condition.wait c m
        done
      else begin
        here := 0;
        incr round;
        Condition.broadcast c
      end

  (* Each of the parties waits for the one before it. *)
  let ring parties =
    let m = Mutex.create () and next = ref 0 in
    let turn = Array.init parties (fun _ -> Condition.create ()) in
    fun k ->
      waiting_while m turn.(k) (fun () -> !next <> k) (fun () ->
          next := (k + 1) mod parties;
          Condition.signal turn.(!next))

  (* Of capacity 1, or a rendezvous: then the sender waits until its message was taken. *)
  let channel ~capacity =
    let m = Mutex.create () and box = ref Free in
    let room = Condition.create () and full = Condition.create () and taken = Condition.create () in
    let free () =
      box := Free;
      Condition.signal room
    in
    let send v =
      waiting_while m room (fun () -> !box <> Free) (fun () ->
          box := Full v;
          Condition.signal full;
          if capacity = 0 then begin
            while !box <> Taken do
              Condition.wait taken m
            done;
            free ()
          end)
    in
    let message () = match !box with Full v -> Some v | Free | Taken -> None in
    let recv () =
      waiting_while m full (fun () -> message () = None) (fun () ->
          let v = Option.get (message ()) in
          if capacity = 0 then begin
            box := Taken;
            Condition.signal taken
          end
          else free ();
          v)
    in
    { send; recv }

  (* {2 Contenders} *)

  let parties domains = Int.max 2 domains

  (* [turns] together; each party does [step k] in turn. *)
  let met make ~rounds ~domains ~turns =
    let n = parties domains in
    let step = make n and rounds = rounds ~parties:n turns in
    let party k () =
      for _ = 1 to rounds do
        step k
      done
    in
    fun () -> List.iter (fun wait -> wait ()) (List.init n (fun k -> start ~domains (party k)))

  let barriers make =
    let step n =
      let await = make n in
      fun _ -> await ()
    in
    met step ~rounds:(fun ~parties:_ turns -> turns)

  let rings = met ring ~rounds:(fun ~parties turns -> turns / parties)

  let channels make run ~domains ~turns =
    let { send; recv } = make () in
    let receive () =
      for _ = 1 to turns do
        ignore (Sys.opaque_identity (recv ()))
      done
    in
    fun () ->
      let wait = start ~domains receive in
      run ~domains turns send;
      wait ()
end

module Of_ours = Made (Ours)
module Of_theirs = Made (Theirs)

let barrier n =
  let b = Muster.Barrier.create n in
  fun () -> Muster.Barrier.await b

let chan capacity () =
  let c = Muster.Chan.bounded capacity in
  { send = Muster.Chan.send c; recv = (fun () -> Muster.Chan.recv c) }

let by_parties =
  [
    ("Barrier", Of_ours.barriers barrier, Of_theirs.(barriers barrier));
    ("Condition, broadcast", Of_ours.(barriers barrier), Of_theirs.(barriers barrier));
    ("Condition, a token round a ring", Of_ours.rings, Of_theirs.rings);
  ]

(* From senders of all shapes to one receiver. *)
let by_channel =
  [
    ("Chan.bounded 0", chan 0, 0);
    ("Chan.bounded 1", chan 1, 1);
    ("Condition, a hand-over", (fun () -> Of_ours.channel ~capacity:0), 0);
  ]

let all =
  let program name shape ours beside =
    { Program.name; shape; turns = 5_000; ours; beside; limit = Program.three }
  in
  let of_channel (name, make, capacity) =
    let theirs () = Of_theirs.channel ~capacity in
    let of_shape (shape, run) =
      program name shape (Of_ours.channels make run) (Of_theirs.channels theirs run)
    in
    List.map of_shape Shapes.all
  in
  List.map (fun (name, ours, theirs) -> program name "tasks" ours theirs) by_parties
  @ List.concat_map of_channel by_channel
