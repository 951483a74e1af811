(* The deque: an owner that follows a script, and thieves, from every state that a short
   history leads to. An entry may reach the owner and one thief, as a claim decides between
   them; it must reach somebody, and no two thieves. *)

type op = Push | Pop | Drop | Retire | Steal

let letter = function
  | Push -> "u"
  | Pop -> "o"
  | Drop -> "d"
  | Retire -> "r"
  | Steal -> "s"

let spell ops = String.concat "" (List.map letter ops)
let nothing = -1

(* Entries are numbered in the order of their pushes. *)
type t = {
  deque : int Deque.t;
  mutable pushed : int;
  mutable popped : int list;
  mutable retired : int list;  (** run in place *)
  stolen : int list array;  (** by thief; the last one is history *)
}

let steal t thief =
  let x = Deque.steal t.deque in
  if x <> nothing then t.stolen.(thief) <- x :: t.stolen.(thief)

let is_left t x = not (List.mem x t.popped || List.mem x t.retired)

let pop t =
  let x = Deque.pop t.deque in
  if x <> nothing && not (List.mem x t.retired) then t.popped <- x :: t.popped;
  x <> nothing

(* A party that drops an entry has it in hand: see Fork.take_back. *)
let drop t =
  let x = t.pushed - 1 in
  if x >= 0 && is_left t x then begin
    Deque.drop t.deque x;
    t.popped <- x :: t.popped
  end

(* Its oldest entry is run in place, as [await] does; then the owner looks for others. *)
let retire t =
  (match List.find_opt (is_left t) (List.init t.pushed Fun.id) with
  | Some x ->
    t.retired <- x :: t.retired;
    Deque.retire t.deque x
  | None -> ());
  Deque.tidy t.deque

let perform t = function
  | Push ->
    t.pushed <- t.pushed + 1;
    Deque.push t.deque (t.pushed - 1)
  | Pop -> ignore (pop t)
  | Drop -> drop t
  | Retire -> retire t
  | Steal -> steal t (Array.length t.stolen - 1)

let after ~capacity ~thieves history =
  let in_hand = ref (fun _ -> false) in
  let deque = Deque.create ~capacity ~is_live:(fun x -> not (!in_hand x)) nothing in
  let t = { deque; pushed = 0; popped = []; retired = []; stolen = Array.make (thieves + 1) [] } in
  in_hand := (fun x -> not (is_left t x));
  List.iter (perform t) history;
  t

(* {2 What holds when nobody moves} *)

let sizes deque =
  let ends = Atomic.get deque.Deque.ends in
  (Deque.top ends, Deque.size_of ends, deque.own.spare, Array.length (Atomic.get deque.slots))

let holds_outside deque =
  let top, size, spare, capacity = sizes deque and ring = Atomic.get deque.slots in
  let free i = Atomic.get (Deque.slot ring (top + i)) = nothing in
  not (List.for_all free (List.init (capacity - size - spare) (fun i -> size + spare + i)))

let shape_faults { deque; _ } =
  let _, size, spare, capacity = sizes deque in
  let fits = size + spare <= capacity in
  Model.faults
    [
      ("spare slots below 0", spare < 0);
      ("more than a round", not fits);
      ("an entry outside", fits && holds_outside deque);
      ("another ring than the owner's", Atomic.get deque.slots != deque.own.ring);
      ("live entries hidden from thieves", Deque.size deque > 0 && Deque.is_empty deque);
    ]

let entry_faults t =
  let stolen = List.concat (Array.to_list t.stolen) in
  let times x list = List.length (List.filter (( = ) x) list) in
  let fault x =
    Model.faults
      [
        (Printf.sprintf "entry %d lost" x, times x stolen + times x t.popped + times x t.retired = 0);
        (Printf.sprintf "entry %d stolen twice" x, times x stolen > 1);
        (Printf.sprintf "entry %d popped twice" x, times x t.popped > 1);
      ]
  in
  List.find_map fault (List.init t.pushed Fun.id)

let rec first_fault = function
  | [] -> None
  | check :: rest -> ( match check () with None -> first_fault rest | fault -> fault)

let drained t =
  while pop t do
    ()
  done;
  Deque.sweep t.deque;
  Model.faults [ ("something left after the sweep", not (Deque.is_empty t.deque)) ]

let verdict t () =
  first_fault [ (fun () -> shape_faults t); (fun () -> drained t); (fun () -> entry_faults t) ]

(* {2 Models} *)

let model ~capacity ~history ~script ~thieves =
  let attempts = String.concat "," (List.map string_of_int thieves) in
  let name =
    Printf.sprintf "deque of %d, after %s: owner %s, thieves %s" capacity (spell history)
      (spell script) attempts
  in
  let start () =
    let t = after ~capacity ~thieves:(List.length thieves) history in
    let owner () = List.iter (perform t) script in
    let thief i count () =
      for _ = 1 to count do
        steal t i
      done
    in
    Model.{ processes = owner :: List.mapi thief thieves; verdict = verdict t }
  in
  Model.make name start

(* Two deques that differ only in how often their ring went round behave alike. *)
let shape ~capacity history =
  let { deque; _ } = after ~capacity ~thieves:0 history in
  let top, size, spare, capacity = sizes deque in
  (capacity, top land (capacity - 1), size, spare)

(* The shortest history to each shape. *)
let histories ~capacity ~length =
  let words = Model.words [ Push; Pop; Steal ] in
  let all = List.concat_map words (List.init (length + 1) Fun.id) in
  let seen = Hashtbl.create 64 in
  let is_new history =
    let shape = shape ~capacity history in
    (not (Hashtbl.mem seen shape))
    &&
    (Hashtbl.add seen shape ();
     true)
  in
  Atomic.apart (fun () -> List.filter is_new all)

let models ~capacity ~history ~script ~thieves =
  let scripts = Model.words [ Push; Pop; Drop; Retire ] script in
  List.concat_map
    (fun history -> List.map (fun script -> model ~capacity ~history ~script ~thieves) scripts)
    (histories ~capacity ~length:history)
