(* Regions: who calls one, and residents in the worker's own loop. Each share runs once, the call
   returns after the last one has ended, nobody waits for ever, and at the end all mailboxes are idle. *)

open Slot
open Place

type call = {
  revoke : bool;
  runs : int array;  (** of each share *)
  body : int -> unit;
  progress : int Atomic.t;  (** shares that have ended *)
  mutable result : exn option option;
  mutable early : bool;  (** it came before those that had begun were over *)
  mutable begun : int;  (** until then *)
}

let call ?(body = ignore) ~revoke size =
  {
    revoke;
    body;
    runs = Array.make size 0;
    progress = Atomic.make 0;
    result = None;
    early = false;
    begun = 0;
  }

let share call i =
  call.runs.(i) <- call.runs.(i) + 1;
  Fun.protect (fun () -> call.body i) ~finally:(fun () -> Atomic.incr call.progress)

let begun call = Array.fold_left ( + ) 0 call.runs

let perform call w =
  let { revoke; runs; _ } = call in
  let result =
    match Region.run w ~revoke ~workers:(Array.length runs) (share call) with
    | () -> None
    | exception exn -> Some exn
  in
  call.begun <- begun call;
  if Atomic.get call.progress <> call.begun then call.early <- true;
  call.result <- Some result

let faults ?fails_with call =
  [
    ("the call does not end", call.result = None);
    ("the call ended before its shares", call.early);
    ("a share did not run once", Array.exists (( <> ) 1) call.runs);
    ("not the leftmost failure", call.result <> Some fails_with);
  ]

(* {2 Parties} *)

type party =
  | Comes  (** is not there when the call begins, and takes a task *)
  | Loops  (** searches, sleeps *)
  | Sleeps  (** the same, and sleeps already *)
  | Serves  (** its mailbox, and does nothing else *)

let come w =
  World.claim w;
  Mailbox.unlock w.mailbox;
  World.steal w

let process pool i = function
  | Comes -> World.at pool i come
  | Loops -> World.resident pool i
  | Sleeps -> World.sleeper pool i
  | Serves -> World.server pool i

let spell = function Comes -> "comes" | Loops -> "loops" | Sleeps -> "sleeps" | Serves -> "serves"
let kind revoke = if revoke then "loop" else "broadcast"

let asleep parties =
  let sleeps i = function Comes | Serves -> [] | Loops | Sleeps -> [ i + 1 ] in
  List.concat (List.mapi sleeps parties)

let name_of what ~revoke parties =
  Printf.sprintf "region: a %s%s beside one that %s" (kind revoke) what
    (String.concat ", one that " (List.map spell parties))

(* The caller has place 0; the others are residents. Either all of them come, or none. *)
let model ?(what = "") ?fails_with ?(prepare = ignore) ?(faults = faults) ?body ~revoke parties =
  let start () =
    let size = List.length parties + 1 in
    let residents = if List.mem Comes parties then 0 else size - 1 in
    let pool = World.pool ~residents size in
    let call = call ?body:(Option.map (fun body -> body pool) body) ~revoke size in
    let residents = List.mapi (fun i party -> process pool (i + 1) party) parties in
    prepare ();
    let verdict () =
      Model.faults (faults ?fails_with call @ World.faults pool ~asleep:(asleep parties))
    in
    Model.{ processes = World.at pool 0 (perform call) :: residents; verdict }
  in
  Model.make (name_of what ~revoke parties) start

let both make = [ make ~revoke:true; make ~revoke:false ]
let simple parties = both (fun ~revoke -> model ~revoke parties)

(* {2 Exceptions} *)

exception Failed of int

let failing first parties =
  let body _ i = if i >= first then raise (Failed i) in
  let what = Printf.sprintf ", whose shares fail from %d on," first in
  both (fun ~revoke -> model ~what ~fails_with:(Failed first) ~body ~revoke parties)

(* Ctrl-C ends the caller's first sleep, if it sleeps at all: what nobody has begun is not done. *)
let interrupted parties =
  let prepare () = Machine.(early := [ (0, Interrupt) ]) in
  let faults ?fails_with:_ call =
    let struck = !Machine.happened > 0 in
    [
      ("the call does not end", call.result = None);
      ("the call ended before its shares", call.early);
      ("a share ran twice", Array.exists (fun n -> n > 1) call.runs);
      ("a share was left out", (not struck) && begun call < Array.length call.runs);
      ("a share began after the call", begun call > call.begun);
      ("not the interrupt", call.result <> Some (if struck then Some Sys.Break else None));
    ]
  in
  both (fun ~revoke -> model ~what:", interrupted," ~prepare ~faults ~revoke parties)

(* {2 Regions in regions} *)

(* Share 1 calls a region itself, on whatever worker it runs. *)
let nested ~inner parties =
  let inner_call = ref None in
  let body _ i =
    if i = 1 then begin
      let call = call ~revoke:inner (List.length parties + 1) in
      inner_call := Some call;
      perform call (current ())
    end
  in
  let prepare () = inner_call := None in
  let all_faults ?fails_with call =
    faults ?fails_with call
    @ match !inner_call with Some inner -> faults inner | None -> [ ("no inner call", true) ]
  in
  let what = Printf.sprintf " with a %s in it" (kind inner) in
  both (fun ~revoke -> model ~what ~prepare ~faults:all_faults ~body ~revoke parties)

(* {2 Two callers} *)

let leave w = Caller.leave { w; outer = None; shown = nobody; fiber = w.own.idle }

(* A caller and a resident, each of which needs the other. *)
let crossing ~revoke ~other =
  let start () =
    let pool = World.pool 2 in
    let first = call ~revoke 2 and second = call ~revoke:other 2 in
    let caller w =
      perform first w;
      leave w
    in
    let resident w =
      perform second w;
      World.server pool 1 ()
    in
    let verdict () =
      Model.faults (faults first @ faults second @ World.faults pool ~asleep:[ 1 ])
    in
    Model.{ processes = [ World.at pool 0 caller; World.at pool 1 resident ]; verdict }
  in
  let name =
    Printf.sprintf "region: a %s of the caller, a %s of a resident" (kind revoke) (kind other)
  in
  Model.make name start

let both_twice make =
  List.concat_map (fun other -> both (fun ~revoke -> make ~revoke ~other)) [ true; false ]

(* Two callers, who both need the resident: many orders. *)
let beside_another ~revoke ~other =
  let start () =
    let pool = World.pool 2 ~extra:1 in
    let first = call ~revoke 2 and second = call ~revoke:other 2 in
    let caller call w =
      perform call w;
      leave w
    in
    let verdict () =
      Model.faults (faults first @ faults second @ World.faults pool ~asleep:[ 1 ])
    in
    let processes =
      [ World.at pool 0 (caller first); World.server pool 1; World.at pool 2 (caller second) ]
    in
    Model.{ processes; verdict }
  in
  let name =
    Printf.sprintf "region: a %s of a caller, a %s of another" (kind revoke) (kind other)
  in
  Model.make ~bound:1_000_000 name start

(* {2 One who leaves} *)

(* A resident calls; the caller leaves meanwhile. *)
let visitor_leaves ~revoke =
  let start () =
    let pool = World.pool 2 in
    let call = call ~revoke 2 in
    let processes = [ World.at pool 0 leave; World.at pool 1 (perform call) ] in
    let is_there () = Atomic.get (workers pool).(0).owner <> 0 in
    let verdict () =
      Model.faults
        ((("the caller has not left", is_there ()) :: faults call) @ World.faults pool ~asleep:[])
    in
    Model.{ processes; verdict }
  in
  Model.make (Printf.sprintf "region: a %s, the caller leaves" (kind revoke)) start

(* A resident leaves for good; so there is nobody whom a broadcast could reach. *)
let resident_leaves () =
  let start () =
    let pool = World.pool 2 in
    let call = call ~revoke:true 2 in
    let go w =
      Resident.lock_mailbox w;
      Resident.let_go w
    in
    let is_open w = w.resident && not (Mailbox.is_gone w.mailbox) in
    let verdict () =
      Model.faults
        ((("a mailbox is open", Array.exists is_open (workers pool)) :: faults call)
        @ World.faults pool ~asleep:[])
    in
    Model.{ processes = [ World.at pool 0 (perform call); World.at pool 1 go ]; verdict }
  in
  Model.make "region: a loop, a resident leaves" start

(* A resident goes to work in another pool, and comes back. *)
let goes_away ~returns ~revoke =
  let start () =
    let pool = World.pool 2 in
    let call = call ~revoke 2 in
    let go w =
      Share.go_away w;
      if returns then begin
        Share.come_back w;
        Worker.work w ~on_top:false ~until:(fun () -> false)
      end
    in
    let verdict () =
      Model.faults (faults call @ World.faults pool ~asleep:(if returns then [ 1 ] else []))
    in
    Model.{ processes = [ World.at pool 0 (perform call); World.at pool 1 go ]; verdict }
  in
  let way = if returns then "goes away and comes back" else "goes away" in
  Model.make (Printf.sprintf "region: a %s, a resident %s" (kind revoke) way) start

(* Of a loop: who calls a broadcast has them come first. *)
let coming parties =
  List.map List.hd [ simple parties; failing 0 parties; failing 1 parties; interrupted parties ]

let quick =
  simple [ Loops ] @ simple [ Sleeps ] @ failing 0 [ Loops ] @ failing 1 [ Loops ]
  @ interrupted [ Loops ] @ both visitor_leaves
  @ [ resident_leaves () ]
  @ coming [ Comes ]
  @ both (goes_away ~returns:false)
  @ both (goes_away ~returns:true)

let slow =
  nested ~inner:true [ Serves ] @ nested ~inner:false [ Serves ] @ both_twice crossing
  @ both_twice beside_another
  @ simple [ Serves; Serves ]
  @ simple [ Sleeps; Serves ]
  @ failing 1 [ Serves; Serves ]
  @ interrupted [ Serves; Serves ]
  @ [ model ~revoke:false [ Serves; Loops ] ]
