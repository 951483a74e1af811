(* One model: some state, processes that change it through atomics, and what must hold when
   all have ended, in whatever order their steps came. Every order is tried, but for those
   that differ only in steps that do not touch the same atomic. *)

type run = { processes : (unit -> unit) list; verdict : unit -> string option }
(** [verdict] is what went wrong, asked after all processes have ended. *)

type t = { name : string; start : unit -> run }

exception Violation of string
exception Again

let orders = ref 0

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

let rec explore ({ name; start } as model) =
  orders := 0;
  Atomic.trace_found ();
  let begin_run () =
    Atomic.renew ();
    let { processes; verdict } = start () in
    List.iteri (fun i f -> Atomic.Traced.spawn (Atomic.process i f)) processes;
    Atomic.Traced.final (judge name verdict)
  in
  match Atomic.Traced.trace begin_run; Atomic.found_more () with
  | false -> ()
  | true | (exception Again) -> explore model

(** How many orders there were.
    @raise Violation in the first order that ends badly, which is printed. *)
let check model =
  Atomic.forget_shared ();
  explore model;
  Atomic.renew ();
  !orders

(** The first fault of those that are true. *)
let faults list =
  List.find_map (fun (fault, is_so) -> if is_so then Some fault else None) list

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
