(* One model: some state, processes that change it through atomics, and what must hold when
   all have ended, in whatever order their steps came. Every order is tried, but for those
   that differ only in steps that do not touch the same atomic. *)

type run = { processes : (unit -> unit) list; verdict : unit -> string option }
(** [verdict] is what went wrong, asked after all processes have ended. *)

type t = { name : string; start : unit -> run }

exception Violation of string

let orders = ref 0

(* A violation is raised between runs, which leaves the checker usable. *)
let judge name verdict () =
  incr orders;
  match verdict () with
  | None -> ()
  | Some fault ->
    Printf.printf "%s: %s\n%!" name fault;
    (try Atomic.check (fun () -> false) with Assert_failure _ -> ());
    raise (Violation (name ^ ": " ^ fault))

(** How many orders there were.
    @raise Violation in the first order that ends badly, which is printed. *)
let check { name; start } =
  orders := 0;
  Atomic.trace (fun () ->
      let { processes; verdict } = start () in
      List.iter Atomic.spawn processes;
      Atomic.final (judge name verdict));
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
