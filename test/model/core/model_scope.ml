(* Scopes: code and tasks that end together, however they end. The scope ends after the last of
   them, its result is what came first, nothing begins afterwards, and nobody waits for ever. *)

open Place

type party = Model_fork.party = Loops | Sleeps | Steals

exception Failed of int

type t = {
  pool : pool;
  scope : Scope.t option Atomic.t;  (** for those who stop it *)
  runs : int array;
  mutable begun : int;  (** when the scope has ended *)
  progress : int Atomic.t;  (** tasks that are over, of those that have begun *)
  mutable early : bool;
  mutable result : (unit, exn) result option;
}

let make parties count =
  {
    pool = World.pool parties ~calls:false;
    scope = Atomic.make None;
    runs = Array.make count 0;
    begun = 0;
    progress = Atomic.make 0;
    early = false;
    result = None;
  }

let begun t = Array.fold_left ( + ) 0 t.runs

let task t ~fails i () =
  t.runs.(i) <- t.runs.(i) + 1;
  Fun.protect
    (fun () -> if List.mem i fails then raise (Failed i))
    ~finally:(fun () -> Atomic.incr t.progress)

(* Number [-1] is the code. *)
let code t ~fails s =
  Atomic.set t.scope (Some s);
  Array.iteri (fun i _ -> ignore (Scope.fork s (task t ~fails i))) t.runs;
  if List.mem (-1) fails then raise (Failed (-1))

let perform t ~fails w =
  let result = match Scope.within (code t ~fails) with () -> Ok () | exception exn -> Error exn in
  t.begun <- begun t;
  t.early <- Atomic.get t.progress <> t.begun;
  t.result <- Some result;
  ignore (w : Place.t)

let stops t () = Option.iter Scope.stop (Atomic.get t.scope)

let is_expected ~fails ~stopped = function
  | Some (Ok ()) -> fails = []
  | Some (Error (Failed i)) -> List.mem i fails
  | Some (Error Promise.Cancelled) -> stopped
  | Some (Error _) | None -> false

let faults t ~fails ~stopped =
  let ended_well = t.result = Some (Ok ()) in
  [
    ("the scope does not end", t.result = None);
    ("the scope ended before its tasks", t.early);
    ("a task began after the scope", begun t > t.begun);
    ("a task ran twice", Array.exists (fun n -> n > 1) t.runs);
    ("a task was left out", ended_well && begun t < Array.length t.runs);
    ("a wrong result", not (is_expected ~fails ~stopped t.result));
    ( "somebody is left in the scope",
      match Atomic.get t.scope with
      | Some s -> Atomic.get s.pending <> 0 || not (Promise.is_done s.promise)
      | None -> false );
  ]

let model ?(fails = []) ?(stopped = false) ?(tasks = 1) parties =
  let start () =
    let t = make (List.length parties + 1) tasks in
    let others = List.mapi (fun i party -> Model_fork.process t.pool (i + 1) party) parties in
    let verdict () =
      Model.faults
        (faults t ~fails ~stopped @ World.faults t.pool ~asleep:(Model_fork.asleep parties))
    in
    let processes = World.at t.pool 0 (perform t ~fails) :: others in
    Model.{ processes = (if stopped then processes @ [ stops t ] else processes); verdict }
  in
  let failing = String.concat "" (List.map (Printf.sprintf ", %d fails") fails) in
  let beside = if parties = [] then "nobody" else "one that " ^ Model_fork.spell_all parties in
  let name =
    Printf.sprintf "scope of %d tasks beside %s%s%s" tasks beside failing
      (if stopped then ", it is stopped" else "")
  in
  Model.make name start

let own_failures n =
  List.init n (fun i -> Outcome.{ exn = Failed i; backtrace = Printexc.get_callstack 0 })

let alone processes =
  let s = Scope.make (workers (World.pool 1 ~calls:false)).(0) in
  let processes, verdict = processes s in
  Model.{ processes; verdict = (fun () -> Model.faults (verdict ())) }

(* A task that is let in is waited for; one that comes too late is refused, also beside another. *)
let forks n ~late =
  let start () =
    alone @@ fun s ->
    let over () = Promise.is_done s.promise and accepted = ref 0 and early = ref false in
    let leave () = Scope.end_one s.promise s.pending in
    let forks () =
      match Scope.task s ignore with
      | exception Invalid_argument _ -> ()
      | _ ->
        incr accepted;
        if over () then early := true;
        leave ()
    in
    if late then leave ();
    let verdict () =
      [
        ("a late fork was let in", late && !accepted > 0);
        ("the scope ended before its tasks", !early);
        ("the scope does not end", not (over ()));
        ("the count is not 0", Atomic.get s.pending <> 0);
      ]
    in
    ((if late then [] else [ leave ]) @ List.init n (fun _ -> forks), verdict)
  in
  Model.make (Printf.sprintf "%d forks in a scope that %s" n (if late then "has ended" else "ends")) start

(* A failure that somebody has seen as the scope's stays that. *)
let failures n =
  let start () =
    alone @@ fun s ->
    let seen = ref [] in
    let fails failure () =
      Scope.fail s failure;
      seen := Atomic.get s.first :: !seen
    in
    let verdict () =
      let first = Atomic.get s.first in
      [ ("another failure took its place", List.exists (fun it -> it != first) !seen) ]
    in
    (List.map fails (own_failures n), verdict)
  in
  Model.make (Printf.sprintf "%d failures of a scope" n) start

let quick =
  [
    forks 2 ~late:true;
    forks 1 ~late:false;
    forks 2 ~late:false;
    failures 2;
    model [ Steals ];
    model [ Steals ] ~fails:[ 0 ];
    model [ Steals ] ~fails:[ -1; 0 ];
    model [] ~stopped:true;
  ]

let slow = [ model [ Steals ] ~tasks:2; model [ Sleeps ]; model [] ~stopped:true ~tasks:2 ]
