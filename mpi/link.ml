type packet
type kind = Empty | Floats | Immediates | Others

external start_at : int -> int = "muster_mpi_start"
external level : int -> int = "muster_mpi_level"
external stop_now : unit -> unit = "muster_mpi_stop"
external abort : int -> unit = "muster_mpi_abort"
external rank : unit -> int = "muster_mpi_rank" [@@noalloc]
external ranks : unit -> int = "muster_mpi_ranks" [@@noalloc]
external wake_exactly : unit -> unit = "muster_mpi_wake_exactly"
external encode_with : 'a -> Marshal.extern_flags list -> packet = "muster_mpi_encode"
external decode_at : packet -> int -> 'a = "muster_mpi_decode"
external words : packet -> int = "muster_mpi_words"
external exchange_now : bytes -> bytes = "muster_mpi_exchange"
external begin_exchange : bytes -> unit = "muster_mpi_begin_exchange"
external exchanged : unit -> bool = "muster_mpi_exchanged"
external end_exchange : unit -> bytes = "muster_mpi_end_exchange"
external gather_packets_now : packet -> int array -> packet = "muster_mpi_gather_packets"
external broadcast_now : packet -> int -> int -> packet = "muster_mpi_broadcast"
external kind : 'a array -> kind = "muster_mpi_kind"

external gather_words_now : 'a array -> int array -> kind -> int -> 'a array
  = "muster_mpi_gather_words"

external send_now : packet -> int -> int -> unit = "muster_mpi_send"
external receive_now : int -> int -> int -> (int * packet) option = "muster_mpi_receive"
external unsent_now : unit -> int = "muster_mpi_unsent"

(* {2 Errors} of the user's [call]: its function, and what else may follow a blank *)

let invalid call fmt =
  let fn = List.hd (String.split_on_char ' ' call) in
  Printf.ksprintf (fun s -> invalid_arg ("Muster_mpi." ^ fn ^ ": " ^ s)) fmt

let runs = Atomic.make false
let check_runs fn = if not (Atomic.get runs) then invalid fn "called outside of run"

let check_rank fn what rank =
  check_runs fn;
  if rank < 0 || rank >= ranks () then
    invalid fn "%s = %d is none of %d ranks" what rank (ranks ())

(* The runtime's reason begins with the name of the function that the user did not call. *)
let refuse_value fn reason =
  let reason = List.hd (List.rev (String.split_on_char ':' reason)) in
  invalid fn "a value cannot be sent: %s" (String.trim reason)

(* {2 Whose thread calls}

   [turn] orders the calls of all threads. Where MPI wants them from one thread, a server makes them:
   a caller leaves its call in [job], and waits for the server to clear it. *)

let turn = Mutex.create ()

type server = { changed : Condition.t; mutable job : (unit -> unit) option }

let rec serve s =
  (match s.job with
  | None -> Condition.wait s.changed turn
  | Some job ->
    job ();
    s.job <- None;
    Condition.broadcast s.changed);
  serve s

let hand_over s f =
  let answer = ref None in
  let job () = answer := Some (try Ok (f ()) with exn -> Error exn) in
  Mutex.protect turn (fun () ->
      while Option.is_some s.job do
        Condition.wait s.changed turn
      done;
      s.job <- Some job;
      Condition.broadcast s.changed;
      while Option.is_none !answer do
        Condition.wait s.changed turn
      done);
  match Option.get !answer with Ok v -> v | Error exn -> raise exn

let server = { changed = Condition.create (); job = None }

(* Whether any thread may call. MPI is started and ended by the same one, whatever the level. *)
let direct = ref false
let call f = if !direct then Mutex.protect turn f else hand_over server f

(* {2 The calls} *)

let start_server () =
  Muster_core.Machine.block_signals ();
  Mutex.protect turn (fun () -> serve server)

let start () =
  ignore (Thread.create start_server ());
  let funneled = level 1 and serialized = level 2 in
  let less = Sys.getenv_opt "MUSTER_MPI_THREADS" = Some "funneled" in
  let provided = call (fun () -> start_at (if less then funneled else serialized)) in
  direct := provided >= serialized && not less;
  Atomic.set runs true

let too_long = 1 lsl 31

let encode v =
  let packet = encode_with v [ Closures ] in
  if words packet >= too_long then
    invalid_arg (Printf.sprintf "a value of %d bytes is too long" (8 * words packet));
  packet

let decode packet ~word = decode_at packet word

let rec await_exchange patience =
  if not (call exchanged) then begin
    patience ();
    Unix.sleepf 20e-6;
    await_exchange patience
  end

let exchange ~patience slot =
  match patience with
  | None -> call (fun () -> exchange_now slot)
  | Some patience ->
    call (fun () -> begin_exchange slot);
    await_exchange patience;
    call end_exchange

let gather_packets packet counts = call (fun () -> gather_packets_now packet counts)
let broadcast packet ~words ~root = call (fun () -> broadcast_now packet words root)

let gather_words array counts kind ~on =
  if Array.fold_left ( + ) 0 counts >= too_long then
    invalid_arg (Printf.sprintf "an array of %d elements is too long" (Array.fold_left ( + ) 0 counts));
  call (fun () -> gather_words_now array counts kind (Option.value on ~default:(-1)))

let send packet ~dest ~tag = call (fun () -> send_now packet dest tag)

let receive ?(source = -1) ~tag ~looks () = call (fun () -> receive_now source tag looks)
let unsent () = call unsent_now

let stop () =
  Atomic.set runs false;
  if unsent () = 0 then begin
    direct := false;
    call stop_now
  end
