(* A stop reaches the waiters of a task, from the task itself or a scope around it,
   once; what comes too late finds it done. *)

type t = {
  scopes : unit Promise.t array;  (** around the task, the outermost first *)
  task : unit Promise.t;
  fired : int array;  (** of each hook *)
  mutable ended : bool;  (** the task was ended, not only stopped *)
  mutable forgot : bool;  (** stopped, and then not *)
  mutable noticed : int list;  (** hooks of who ended because it saw the stop *)
}

(* [stale]: as many entries are there already whose purpose is gone. *)
let make ~scopes ~hooks ~stale =
  let unheard _ _ = () in
  let enclose (lineage, all) _ =
    let scope = Promise.(started (home ~lineage ~unheard Nobody)) in
    (Promise.Within (Promise.any scope, lineage), scope :: all)
  in
  let lineage, inner_first = List.fold_left enclose (Promise.Alone, []) (List.init scopes Fun.id) in
  let task = Promise.(started (home ~lineage ~unheard Nobody)) in
  let scopes = Array.of_list (List.rev inner_first) in
  let is_live () = false in
  let add p = Cancellation.on_stop ~is_live p ignore in
  for _ = 1 to stale do
    Array.iter add scopes
  done;
  { scopes; task; fired = Array.make hooks 0; ended = false; forgot = false; noticed = [] }

(* {2 Parties} *)

type party = Hook | Stop | Stop_scope of int | End | Look | Notice

let hook t i () =
  Cancellation.on_stop t.task ~is_live:(fun () -> true) (fun () -> t.fired.(i) <- t.fired.(i) + 1)

let finish t () =
  ignore (Promise.resolve t.task (Returned ()));
  t.ended <- true

let look t () =
  let before = Cancellation.is_stopped t.task in
  if before && not (Cancellation.is_stopped t.task || Promise.is_done t.task) then t.forgot <- true

(* The task's own fiber, which looks and ends. *)
let notice t i () =
  hook t i ();
  if Cancellation.is_stopped t.task then t.noticed <- i :: t.noticed;
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
    | Look -> look t
  in
  List.map process parties

let is_stop = function Stop | Stop_scope _ -> true | Hook | End | Look | Notice -> false

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
      ("not stopped", stopped && (not t.ended) && not (Cancellation.is_stopped t.task));
    ]

let spell = function
  | Hook -> "hook"
  | Stop -> "stop"
  | Stop_scope i -> Printf.sprintf "stop scope %d" i
  | End -> "end"
  | Look -> "look"
  | Notice -> "notice"

let model ?(scopes = 1) ?(stale = 0) parties =
  let hooks = List.length (List.filter (fun it -> it = Hook || it = Notice) parties) in
  let start () =
    let t = make ~scopes ~hooks ~stale in
    Model.{ processes = processes t parties; verdict = verdict t parties }
  in
  let name =
    Printf.sprintf "task in %d scopes with %d stale entries: %s" scopes stale
      (String.concat ", " (List.map spell parties))
  in
  Model.make name start

(* All sets of so many parties beside a hook; only one of them ends the task. *)
let all ~scopes size kinds =
  let ends_once parties = List.length (List.filter (( = ) End) parties) <= 1 in
  Model.choices size kinds |> List.filter ends_once
  |> List.map (fun others -> model ~scopes (Hook :: others))

(* The eighth entry makes the next one sweep. *)
let quick =
  all ~scopes:1 2 [ Stop; Stop_scope 0; End; Hook; Look ]
  @ [
      model ~stale:8 [ Hook; Stop_scope 0 ];
      model ~scopes:2 [ Hook; Stop_scope 0; Stop_scope 1 ];
      model ~scopes:2 [ Hook; Stop_scope 0; Stop ];
      model [ Notice; Stop_scope 0 ];
      model [ Notice; Stop_scope 0; Stop ];
      model [ Notice; Hook; Stop_scope 0 ];
      model ~scopes:2 [ Notice; Stop_scope 0 ];
      model ~scopes:2 [ Notice; Stop_scope 0; Stop_scope 1 ];
    ]

let slow =
  all ~scopes:2 3 [ Stop; Stop_scope 0; Stop_scope 1; End; Look ]
  @ [ model ~stale:8 [ Hook; Hook; Stop_scope 0 ] ]
