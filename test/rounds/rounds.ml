module Machine = Muster_core.Machine
module Pool = Muster.Pool

type case = { name : string; limit : int; body : unit -> unit }

let case ?(limit = max_int) name body = { name; limit; body }
let scale = Option.fold (Sys.getenv_opt "MUSTER_ROUNDS") ~none:1. ~some:float_of_string
let least = Option.fold (Sys.getenv_opt "MUSTER_LEAST_ROUNDS") ~none:1 ~some:int_of_string

(* [least], or the limit of the case that is played. *)
let floor = ref least
let times n = max !floor (int_of_float (float n *. scale))
let check what holds = if not holds then failwith what
let played = ref 0

(* Yields, since a machine may have fewer CPUs than there are parties. *)
let rec relax turn ~turns condition =
  if turn < turns && not (condition ()) then begin
    if turn < 100 then Domain.cpu_relax () else Machine.yield ();
    relax (turn + 1) ~turns condition
  end

let relax_until ?(turns = max_int) condition = relax 0 ~turns condition

(* {2 Starting together} *)

type barrier = { parties : int; arrived : int Atomic.t; turn : int Atomic.t }

let barrier parties = { parties; arrived = Atomic.make 0; turn = Atomic.make 0 }

let meet b =
  let turn = Atomic.get b.turn in
  if Atomic.fetch_and_add b.arrived 1 = b.parties - 1 then begin
    Atomic.set b.arrived 0;
    Atomic.set b.turn (turn + 1)
  end
  else relax_until (fun () -> Atomic.get b.turn <> turn)

(* Nobody leaves the barrier at the same moment: these delays change who is first, and by how
   much. *)
let delay ~party round =
  for _ = 1 to round * ((2 * party) + 1) land 31 do
    Domain.cpu_relax ()
  done

let keep_first failed f =
  try f ()
  with exn ->
    let backtrace = Printexc.get_raw_backtrace () in
    ignore (Atomic.compare_and_set failed None (Some (exn, backtrace)))

(* After a failure the rounds go on, empty, so that nobody is left alone at the barrier. *)
let race_exactly ?(before = ignore) ?(after = ignore) rounds parties =
  let start = barrier (List.length parties) in
  let finish = barrier (List.length parties) and failed = Atomic.make None in
  let step f round = if Atomic.get failed = None then keep_first failed (fun () -> f round) in
  let play party f () =
    for round = 0 to rounds - 1 do
      if party = 0 then step before round;
      meet start;
      delay ~party round;
      step f round;
      meet finish;
      if party = 0 then step after round
    done
  in
  (match List.mapi play parties with
  | [] -> ()
  | first :: others ->
    let domains = List.map Domain.spawn others in
    first ();
    List.iter Domain.join domains);
  played := !played + rounds;
  match Atomic.get failed with
  | None -> ()
  | Some (exn, backtrace) -> Printexc.raise_with_backtrace exn backtrace

let race ?before ?after n parties = race_exactly ?before ?after (times n) parties

let repeat ?(group = 1) n f =
  let calls = (times n + group - 1) / group in
  for call = 0 to calls - 1 do
    f call
  done;
  played := !played + (calls * group)

let pauses n =
  for _ = 1 to n do
    Domain.cpu_relax ()
  done

let loiter round = pauses (round land 63)

let with_pool domains f () =
  let pool = Pool.create ~domains ~oversubscribe:true () in
  Fun.protect ~finally:(fun () -> Pool.close pool) (fun () -> f pool)

let in_task ?group domains n f () =
  Pool.with_ ~domains ~oversubscribe:true (fun _ -> repeat ?group n f)

(* {2 The program} *)

(* They are read when the program begins. *)
let insist_on domains =
  let settings = [| "MUSTER_GOVERNOR=off"; Printf.sprintf "MUSTER_DOMAINS=%d" domains |] in
  let environment = Unix.environment () in
  if not (Array.for_all (fun it -> Array.mem it environment) settings) then
    Unix.execve Sys.executable_name Sys.argv (Array.append settings environment)

let run { name; limit; body } =
  ignore (Unix.alarm (if least = 1 then 240 else 7200));
  played := 0;
  floor := min least limit;
  let since = Unix.gettimeofday () in
  let verdict =
    match body () with
    | () -> "ok    "
    | exception exn ->
      Printf.printf "%s\n%s" (Printexc.to_string exn) (Printexc.get_backtrace ());
      "FAILED"
  in
  Printf.printf "%s %-60s %8d rounds, %5.2f s\n%!" verdict name !played
    (Unix.gettimeofday () -. since);
  verdict = "ok    "

(* Flags are for Alcotest, and a runner may pass them to all programs alike. *)
let is_selected { name; _ } =
  let first_word = List.hd (String.split_on_char ' ' name) in
  let is_name it = not (String.starts_with ~prefix:"-" it) in
  match List.filter is_name (List.tl (Array.to_list Sys.argv)) with
  | [] -> true
  | wanted -> List.mem (List.hd (String.split_on_char ':' first_word)) wanted

(* The bounds of all minor heaps move when one first grows beyond what is reserved. OCaml 5.4.1 reads
   them in a thread whose domain has ended (free_domain_ml_values), which nothing orders with that. To
   keep this race of the runtime's out of the reports, what Muster will ask for is reserved before the
   first domain starts. *)
let reserve_heaps () =
  let settings = Gc.get () in
  Gc.set { settings with minor_heap_size = Muster_core.Heap.larger };
  Gc.set settings

let main cases =
  reserve_heaps ();
  Printexc.record_backtrace true;
  let passed, failed = List.partition run (List.filter is_selected cases) in
  ignore (Unix.alarm 0);
  Printf.printf "%d passed, %d failed\n" (List.length passed) (List.length failed);
  if failed <> [] || passed = [] then exit 1
