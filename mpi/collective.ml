type failure = { rank : int; exn : string; backtrace : string }

exception Raised of failure

let () =
  Printexc.register_printer (function
    | Raised { rank; exn; backtrace } ->
      Some (Printf.sprintf "Muster_mpi.Raised: rank %d: %s\n%s" rank exn backtrace)
    | _ -> None)

let failure exn =
  { rank = Link.rank (); exn = Printexc.to_string exn; backtrace = Printexc.get_backtrace () }

(* {2 Slots}

   Short ones: Open MPI sends 256 bytes at once, which are two slots between four ranks, and more in
   two steps. So a slot has no name of the call, but half of its digest. *)

let slot_size = 128
let number_at = 8
let words_at = 12
let value_at = 16
let get slots at = Int32.to_int (Bytes.get_int32_le slots at)
let set slot at n = Bytes.set_int32_le slot at (Int32.of_int n)

(* The slot has the value, or else the packet does. *)
let put slot value =
  match Marshal.to_buffer slot value_at (slot_size - value_at) value [ Closures ] with
  | (_ : int) -> None
  | exception Failure _ ->
    let packet = Link.encode value in
    set slot words_at (Link.words packet);
    Some packet

let fill slot call number outcome =
  Bytes.blit_string (Digest.string call) 0 slot 0 number_at;
  set slot number_at number;
  try put slot outcome
  with Invalid_argument reason -> (
    try Link.refuse_value call reason with exn -> put slot (Error (failure exn)))

let is_here slots rank =
  let own = Link.rank () * slot_size and other = rank * slot_size in
  Int64.equal (Bytes.get_int64_le slots own) (Bytes.get_int64_le slots other)
  && get slots (own + number_at) = get slots (other + number_at)

let rec elsewhere slots rank =
  if rank = Link.ranks () then None
  else if is_here slots rank then elsewhere slots (rank + 1)
  else Some rank

let place = Printf.sprintf "%s (call %d)"

(* Some ranks called another operation: all of them come here. *)
let complain call number other =
  let own = place call number in
  let own = String.sub own 0 (Int.min slot_size (String.length own)) in
  let slot = Bytes.make slot_size '\000' in
  Bytes.blit_string own 0 slot 0 (String.length own);
  let names = Link.exchange ~patience:None slot in
  let name = Bytes.sub_string names (other * slot_size) slot_size in
  let name = List.hd (String.split_on_char '\000' name) in
  Link.invalid call "rank %d calls %s, and rank %d %s" (Link.rank ()) own other name

(* {2 Waits}, told of where [MUSTER_MPI_CHECK] is set: a rank that does not come may wait for a message. *)

let tell_after = 5.
let is_checked = Sys.getenv_opt "MUSTER_MPI_CHECK" = Some "1"

let patience place =
  let since = Unix.gettimeofday () and told = ref (not is_checked) in
  fun () ->
    if (not !told) && Unix.gettimeofday () -. since > tell_after then begin
      told := true;
      Printf.eprintf "Muster_mpi: rank %d has waited %.0f s in %s\n%!" (Link.rank ()) tell_after place
    end

(* {2 Operations} *)

let no_packet = lazy (Link.encode ())

(* Packets of several ranks are gathered; that of one is broadcast. *)
let fetch packet counts =
  let packet = Option.value packet ~default:(Lazy.force no_packet) in
  match List.filter (fun rank -> counts.(rank) > 0) (List.init (Array.length counts) Fun.id) with
  | [ root ] -> (Link.broadcast packet ~words:counts.(root) ~root, fun _ -> 0)
  | _ ->
    let start rank = Array.fold_left ( + ) 0 (Array.sub counts 0 rank) in
    (Link.gather_packets packet counts, start)

let calls = Atomic.make 0

let outcomes call outcome =
  let number = Atomic.fetch_and_add calls 1 in
  let slot = Bytes.make slot_size '\000' in
  let packet = fill slot call number outcome in
  let patience = if is_checked then Some (patience (place call number)) else None in
  let slots = Link.exchange ~patience slot in
  Option.iter (complain call number) (elsewhere slots 0);
  let counts = Array.init (Link.ranks ()) (fun rank -> get slots ((rank * slot_size) + words_at)) in
  let inline rank = Marshal.from_bytes slots ((rank * slot_size) + value_at) in
  if Array.for_all (( = ) 0) counts then Array.init (Link.ranks ()) inline
  else
    let all, start = fetch packet counts in
    let value rank =
      if counts.(rank) = 0 then inline rank else Link.decode all ~word:(start rank)
    in
    Array.init (Link.ranks ()) value

let attempt f =
  match f () with v -> Ok v | exception Raised failure -> Error failure | exception exn -> Error (failure exn)

let value = function Ok v -> v | Error failure -> raise (Raised failure)
let on_all_alike f = value (attempt f)
let share call f = Array.map value (outcomes call (attempt f))

let busy = Atomic.make None

let within call f =
  Link.check_runs call;
  if not (Atomic.compare_and_set busy None (Some call)) then
    Link.invalid call "called within %s"
      (Option.value (Atomic.get busy) ~default:"an operation");
  Fun.protect ~finally:(fun () -> Atomic.set busy None) f

let agree call f = within call (fun () -> share call f)
