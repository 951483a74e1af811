(* A stop reaches the waiters of a task, from the task itself or a scope around it, once, also where
   a scope in between ends; what comes too late finds it done. All within a scope are stopped at the
   same time, for all that look. *)

type t = {
  scopes : unit Promise.t array;  (** around the task, the outermost first *)
  task : unit Promise.t;
  outer : unit Promise.t;  (** a task directly in the outermost scope *)
  fired : int array;  (** of each hook *)
  mutable ended : bool;  (** the task was ended, not only stopped *)
  mutable forgot : bool;  (** stopped, and then not *)
  mutable late : bool;  (** the task was stopped later than [outer] *)
  mutable noticed : int list;  (** hooks of who ended because it saw the stop *)
}

(* [stale]: as many entries are there already whose purpose is gone. *)
let make ~scopes ~hooks ~stale ~linked =
  let unheard _ _ = () in
  let enclose (lineage, all) _ =
    let scope = Promise.(started (home ~lineage ~unheard Nobody)) in
    (Promise.(within (any scope) lineage), scope :: all)
  in
  let lineage, inner_first = List.fold_left enclose (Promise.Alone, []) (List.init scopes Fun.id) in
  let task_in lineage = Promise.(started (home ~lineage ~unheard Nobody)) in
  let task = task_in lineage in
  let scopes = Array.of_list (List.rev inner_first) in
  let outer = task_in Promise.(within (any scopes.(0)) Alone) in
  let link scope = Promise.(link (any scope)) in
  if linked then Array.iter link scopes;
  let add p = Promise.on_stop p (Entries.entry ~is_live:(fun () -> false) ignore) in
  for _ = 1 to stale do
    Array.iter add scopes
  done;
  let fired = Array.make hooks 0 in
  { scopes; task; outer; fired; ended = false; forgot = false; late = false; noticed = [] }

(* {2 Parties} *)

type party = Hook | Stop | Stop_scope of int | End | End_scope of int | Look | Compare | Notice

let hook t i () =
  Promise.on_stop t.task (Entries.entry (fun () -> t.fired.(i) <- t.fired.(i) + 1))

let finish t () =
  ignore (Promise.resolve t.task (Returned ()));
  t.ended <- true

(* As scopes end: before the second step it knows whether it was stopped. *)
let end_scope t i () =
  let scope = t.scopes.(i) in
  if Promise.is_stopped scope then Promise.stop scope;
  ignore (Promise.resolve scope (Returned ()))

let compare t () =
  if Promise.is_stopped t.outer && not (Promise.is_stopped t.task || Promise.is_done t.task) then
    t.late <- true

let look t () =
  let before = Promise.is_stopped t.task in
  if before && not (Promise.is_stopped t.task || Promise.is_done t.task) then t.forgot <- true

(* The task's own fiber, which looks and ends. *)
let notice t i () =
  hook t i ();
  if Promise.is_stopped t.task then t.noticed <- i :: t.noticed;
  finish t ()

let processes t parties =
  let count = ref (-1) in
  let process = function
    | Hook ->
      incr count;
      hook t !count
    | Notice ->
      incr count;
      notice t !count
    | Stop -> fun () -> Promise.stop t.task
    | Stop_scope i -> fun () -> Promise.stop t.scopes.(i)
    | End -> finish t
    | End_scope i -> end_scope t i
    | Look -> look t
    | Compare -> compare t
  in
  List.map process parties

let is_stop = function
  | Stop | Stop_scope _ -> true
  | Hook | End | End_scope _ | Look | Compare | Notice -> false

let verdict t parties () =
  let stopped = List.exists is_stop parties in
  Model.faults
    [
      ("a hook was called twice", Array.exists (fun n -> n > 1) t.fired);
      ("a hook was called without a stop", (not stopped) && Array.exists (fun n -> n > 0) t.fired);
      ("a hook was not called", stopped && (not t.ended) && Array.mem 0 t.fired);
      ( "ended as stopped, and a hook was not called",
        List.exists (fun i -> t.fired.(i) = 0) t.noticed );
      ("stopped, and then not", t.forgot);
      ("stopped later than another in the scope", t.late);
      ("not stopped", stopped && (not t.ended) && not (Promise.is_stopped t.task));
    ]

let spell = function
  | Hook -> "hook"
  | Stop -> "stop"
  | Stop_scope i -> Printf.sprintf "stop scope %d" i
  | End -> "end"
  | End_scope i -> Printf.sprintf "end scope %d" i
  | Compare -> "compare"
  | Look -> "look"
  | Notice -> "notice"

let model ?(scopes = 1) ?(stale = 0) ?(linked = false) parties =
  let hooks = List.length (List.filter (fun it -> it = Hook || it = Notice) parties) in
  let start () =
    let t = make ~scopes ~hooks ~stale ~linked in
    Model.{ processes = processes t parties; verdict = verdict t parties }
  in
  let name =
    Printf.sprintf "task in %d%s scopes with %d stale entries: %s" scopes
      (if linked then " linked" else "")
      stale
      (String.concat ", " (List.map spell parties))
  in
  Model.make name start

(* All sets of so many parties beside a hook; only one of them ends the task, or is a hook. *)
let all ~scopes size kinds =
  let at_most_one party parties = List.length (List.filter (( = ) party) parties) <= 1 in
  Model.choices size kinds
  |> List.filter (at_most_one End)
  |> List.filter (at_most_one Hook)
  |> List.map (fun others -> model ~scopes (Hook :: others))

(* The eighth entry makes the next one sweep. *)
let quick =
  all ~scopes:1 2 [ Stop; Stop_scope 0; End; Hook; Look ]
  @ [
      model ~stale:8 [ Hook; Stop_scope 0 ];
      model ~scopes:2 [ Hook; Stop_scope 0; Stop_scope 1 ];
      model ~scopes:2 [ Hook; Stop_scope 0; Stop ];
      model [ Notice; Stop_scope 0 ];
      model ~scopes:2 [ Notice; Stop_scope 0 ];
      model ~scopes:2 [ Notice; Stop_scope 0; Stop_scope 1 ];
    ]
  @ List.concat_map
      (fun linked ->
        [
          model ~linked ~scopes:2 [ Hook; Stop_scope 0; End_scope 1 ];
          model ~linked ~scopes:2 [ Hook; Stop_scope 0; Compare ];
          model ~linked ~scopes:2 [ End_scope 1; Stop_scope 0; Compare ];
        ])
      [ false; true ]

let slow =
  all ~scopes:2 3 [ Stop; Stop_scope 0; Stop_scope 1; End; Look ]
  @ List.map (Model.bounded 1_000_000)
      [
        model [ Notice; Stop_scope 0; Stop ];
        model [ Notice; Hook; Stop_scope 0 ];
        model ~stale:8 [ Hook; Hook; Stop_scope 0 ];
        model [ Hook; Hook; Hook ];
      ]
  @ List.map
      (fun parties -> Model.bounded 1_000_000 (model ~linked:true ~scopes:3 parties))
      [
        [ Hook; Stop_scope 0; End_scope 1 ];
        [ Hook; Stop_scope 0; End_scope 1; End_scope 2 ];
        [ Hook; Stop_scope 0; End_scope 2; Compare ];
        [ Hook; Stop_scope 1; End_scope 2; Stop_scope 0 ];
      ]
