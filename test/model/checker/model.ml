(* One model: some state, processes that change it through atomics, and what must hold when
   all have ended, in whatever order their steps came. Every order is tried, but for those
   that differ only in steps that do not touch the same atomic. *)

type run = { processes : (unit -> unit) list; verdict : unit -> string option }
(** [verdict] is what went wrong, asked after all processes have ended. *)

type t = {
  name : string;
  start : unit -> run;
  bound : int option;  (** not all orders are tried, only the first so many runs *)
}

let make ?bound name start = { name; start; bound }
let bounded bound model = { model with bound = Some bound }

type ending =
  | Exhausted
  | Bounded  (** by its own bound: there are more orders *)
  | Cut  (** by [longest], though it should be exhausted *)

type count = {
  orders : int;
  runs : int;  (** of a beginning of an order: what the time goes into *)
  ending : ending;
}

exception Violation of string
exception Again
exception Enough

(* No model may take more runs: a run takes 10 to 50 us, so that is some minutes. *)
let longest = 5_000_000
let orders = ref 0
let runs = ref 0

let fault_of verdict =
  match !Atomic.raised with
  | (i, exn) :: _ -> Some (Printf.sprintf "process %d raised %s" i (Printexc.to_string exn))
  | [] -> verdict ()

(* A violation is raised between runs, which leaves the checker usable. *)
let judge name verdict () =
  Atomic.current := Atomic.the_model;
  if Atomic.found_more () then raise Again;
  if not (Atomic.is_void ()) then begin
    incr orders;
    match fault_of verdict with
    | None -> ()
    | Some fault ->
      Printf.printf "%s: %s\n%!" name fault;
      (try Atomic.Traced.check (fun () -> false) with Assert_failure _ -> ());
      raise (Violation (name ^ ": " ^ fault))
  end

let rec explore ({ name; start; bound } as model) =
  orders := 0;
  runs := 0;
  Atomic.trace_found ();
  let most = Option.value bound ~default:longest in
  let begin_run () =
    if !runs >= most then raise Enough;
    incr runs;
    Atomic.renew ();
    let { processes; verdict } = start () in
    List.iteri (fun i f -> Atomic.Traced.spawn (Atomic.process i f)) processes;
    Atomic.Traced.final (judge name verdict)
  in
  match
    Atomic.Traced.trace begin_run;
    Atomic.found_more ()
  with
  | false -> ()
  | true | (exception Again) -> explore model

(** How many orders there were.
    @raise Violation in the first order that ends badly, which is printed. *)
let check model =
  Atomic.forget_shared ();
  let ending =
    match explore model with
    | () -> Exhausted
    | exception Enough -> if model.bound = None then Cut else Bounded
  in
  Atomic.renew ();
  { orders = !orders; runs = !runs; ending }

(** The first fault of those that are true. *)
let faults list = List.find_map (fun (fault, is_so) -> if is_so then Some fault else None) list

(** All lists of that length with these elements. *)
let rec words alphabet length =
  if length = 0 then [ [] ]
  else
    List.concat_map
      (fun word -> List.map (fun letter -> letter :: word) alphabet)
      (words alphabet (length - 1))

(** All multisets of that size. *)
let rec choices size = function
  | _ when size = 0 -> [ [] ]
  | [] -> []
  | first :: rest as all ->
    List.map (fun choice -> first :: choice) (choices (size - 1) all) @ choices size rest
