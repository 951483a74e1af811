open Eio.Std
module Lazy = Muster.Lazy
module Task = Muster.Task
module Workers = Muster.Workers

type place = Workers of { count : int; queue : int } | Executor_pool of int | Event_loop

type settings = {
  source : Repository.source;
  place : place;
  deadline : float;
  grace : float;
  limits : Connection.limits;
  port : int;
  accept_domains : int;
}

(* The service goes on if the reader of its log ends. *)
let log format =
  let write line = try Printf.eprintf "solver_service: %s\n%!" line with Sys_error _ -> () in
  Printf.ksprintf write format

(* {2 Solves}

   The repository is shared: the first solve that needs it has a task read it, while others wait, and
   it is replaced as a whole. The task belongs to no solve: it goes on where they reach their
   deadlines. A worker's solver belongs to that worker's job; it is made anew for another
   repository. *)

type worker = { mutable solver : Solver.t option }

type t = {
  settings : settings;
  repository : Repository.t Task.t Lazy.t Atomic.t;
  solve : Solver.request -> Solver.answer * string;
  metrics : unit -> string;
  drain : unit -> unit;
}

let read_later source =
  Lazy.from_fun (fun () ->
      Task.protect (fun () -> Task.async (fun () -> Repository.load source)))

let solver_of worker repository =
  match worker.solver with
  | Some solver when Solver.repository solver == repository -> solver
  | Some _ | None ->
    let solver = Solver.make repository in
    worker.solver <- Some solver;
    solver

(* Where it could not be read, the next solve tries again: apt may be at work, or files have run out. *)
let read settings repository =
  let this_one = Atomic.get repository in
  try Task.await (Lazy.force this_one)
  with Repository.Unreadable _ as error ->
    ignore (Atomic.compare_and_set repository this_one (read_later settings.source) : bool);
    raise error

let solve_in settings repository request worker =
  let repository = read settings repository in
  let answer = Solver.solve (solver_of worker repository) request in
  match answer with
  | Packages packages -> (answer, Repository.list repository packages)
  | No_solution | No_such_package -> (answer, "")

(* A solver that was cut off is as good as before, so that it is kept. *)
let on_workers settings repository ~count ~queue =
  let workers =
    Workers.create ~name:"solver" ~workers:count ~queue ~reset:Fun.id (fun _ -> { solver = None })
  in
  let solve request =
    Workers.submit ~deadline:settings.deadline workers (solve_in settings repository request)
  in
  let metrics () = Format.asprintf "%a" Workers.pp_prometheus workers in
  let drain () = Workers.drain ~grace:settings.grace workers in
  { settings; repository; solve; metrics; drain }

(* They can't drain: at the end the service waits for the clients, no longer than the grace, and then
   gives up the solves. *)
let elsewhere ~clock settings repository solve =
  let over, give_up = Promise.create () in
  let given_up () =
    Promise.await over;
    raise Task.Cancelled
  in
  let solve request = Fiber.first (fun () -> solve request) given_up in
  let drain () =
    Eio.Time.sleep clock settings.grace;
    Promise.resolve give_up ()
  in
  { settings; repository; solve; metrics = (fun () -> ""); drain }

(* A solve that waits for opam files suspends its fiber, and other fibers of the domain go on. *)
let own_worker = Domain.DLS.new_key (fun () -> (Muster.Mutex.create (), { solver = None }))

let solve_here settings repository request =
  let mutex, worker = Domain.DLS.get own_worker in
  Muster.Mutex.protect mutex (fun () -> solve_in settings repository request worker)

let make ~sw ~clock ~domain_manager settings =
  let repository = Atomic.make (read_later settings.source) in
  match settings.place with
  | Workers { count; queue } -> on_workers settings repository ~count ~queue
  | Event_loop -> elsewhere ~clock settings repository (solve_here settings repository)
  | Executor_pool domain_count ->
    let pool = Eio.Executor_pool.create ~sw ~domain_count domain_manager in
    elsewhere ~clock settings repository (fun request ->
        Eio.Executor_pool.submit_exn pool ~weight:1. (fun () -> solve_here settings repository request))

let reason = function Repository.Unreadable reason -> reason | error -> Printexc.to_string error

(* One that cannot be read, for whatever reason, changes nothing. *)
let reload t =
  let next = read_later t.settings.source in
  match Task.await (Lazy.force next) with
  | _ ->
    Atomic.set t.repository next;
    log "the repository was read anew"
  | exception (Eio.Cancel.Cancelled _ as stop) -> raise stop
  | exception error -> log "the repository stays as it is: %s" (reason error)

(* {2 Requests} *)

let text = Connection.text
let busy reason = text `Service_unavailable reason ~headers:[ ("retry-after", "1") ]

let solve t hung_up (request : Solver.request) =
  match Fiber.first (fun () -> t.solve request) hung_up with
  | Packages _, list -> text `OK list
  | No_solution, _ -> text `Unprocessable_entity "no solution"
  | No_such_package, _ -> text `Not_found ("no such package: " ^ request.package)
  | exception Workers.Rejected Full -> busy "too many requests wait"
  | exception (Workers.Rejected Draining | Task.Cancelled) -> busy "the service ends"
  | exception (Workers.Rejected Expired | Task.Deadline_exceeded) ->
    text `Gateway_timeout "out of time"
  | exception ((Connection.Hung_up | Eio.Cancel.Cancelled _) as stop) -> raise stop
  | exception error ->
    log "%s" (reason error);
    text `Internal_server_error "the solve failed"

(* No name has a blank. So a blank was [+], as in [g++]: forms of HTML write one for the other. *)
let parameter uri key =
  match Uri.get_query_param uri key with
  | None | Some "" -> None
  | Some it -> Some (String.map (function ' ' -> '+' | c -> c) it)

let solve_query t hung_up uri =
  match parameter uri "pkg" with
  | None -> text `Bad_request "which package? /solve?pkg=NAME&ocaml=VERSION"
  | Some package -> solve t hung_up { package; ocaml = parameter uri "ocaml" }

let handle t hung_up (request : Http.Request.t) =
  let uri = Uri.of_string request.resource in
  match (request.meth, Uri.path uri) with
  | (`GET | `HEAD), "/ping" -> text `OK "pong"
  | (`GET | `HEAD), "/metrics" ->
    let headers = [ ("content-type", "text/plain; version=0.0.4") ] in
    { status = `OK; headers; body = t.metrics () }
  | (`GET | `HEAD), "/solve" -> solve_query t hung_up uri
  | (`GET | `HEAD), path -> text `Not_found ("nothing at " ^ path)
  | _ -> text `Method_not_allowed "GET or HEAD" ~headers:[ ("allow", "GET, HEAD") ]

(* {2 From begin to end}

   A signal's handler may run on any domain and between any two steps: it counts, and wakes the
   fiber that does the work. The second signal to end ends the process at once. *)

let signals () =
  let changed = Eio.Condition.create () and hangups = Atomic.make 0 and ended = Atomic.make false in
  let on signal f =
    let handle signal =
      f signal;
      Eio.Condition.broadcast changed
    in
    Sys.set_signal signal (Signal_handle handle)
  in
  let to_end = [ Sys.sigint; Sys.sigterm ] in
  let stop _ =
    List.iter (fun signal -> Sys.set_signal signal Signal_default) to_end;
    Atomic.set ended true
  in
  List.iter (fun signal -> on signal stop) to_end;
  on Sys.sighup (fun _ -> Atomic.incr hangups);
  (changed, hangups, ended)

(* Until it is to end, however long a repository takes to read. *)
let rec follow t (changed, hangups, ended) ~seen =
  let until holds =
    Eio.Condition.loop_no_mutex changed (fun () -> if holds () then Some () else None)
  and is_over () = Atomic.get ended in
  until (fun () -> is_over () || Atomic.get hangups > seen);
  if not (is_over ()) then begin
    let seen = Atomic.get hangups in
    Fiber.first (fun () -> reload t) (fun () -> until is_over);
    follow t (changed, hangups, ended) ~seen
  end

(* Clients that go in the middle of things are no failure of the service. *)
let rec on_error = function
  | Eio.Exn.Multiple errors -> List.iter (fun (error, _) -> on_error error) errors
  | Connection.Hung_up | Eio.Time.Timeout | End_of_file | Eio.Io (Eio.Net.E _, _) -> ()
  | error -> log "%s" (Printexc.to_string error)

let listen ~sw net port =
  let address = `Tcp (Eio.Net.Ipaddr.V4.loopback, port) in
  let socket = Eio.Net.listen ~reuse_addr:true ~backlog:1_024 ~sw net address in
  (match Eio.Net.listening_addr socket with
  | `Tcp (_, port) -> Printf.printf "listening on port %d\n%!" port
  | `Unix _ -> ());
  socket

(* Where files run out, it goes on later, as clients end. *)
let accept ~clock ~room ~sw socket serve =
  let release () = Eio.Semaphore.release room in
  let serve client _ = Fun.protect ~finally:release (fun () -> serve client) in
  Eio.Semaphore.acquire room;
  try Eio.Net.accept_fork ~sw socket ~on_error serve
  with Eio.Io _ as error ->
    release ();
    log "%s" (Printexc.to_string error);
    Eio.Time.sleep clock 0.1

let rec accept_for_ever accept ~sw socket serve =
  accept ~sw socket serve;
  accept_for_ever accept ~sw socket serve

(* Those that still wait; clients that come later find nobody. None is served before the socket is
   closed, as those that have their answers come again, without end. Each waits for a second at
   most, as files or room may run out. *)
let accept_the_last accept ~clock socket serve =
  Switch.run @@ fun sw ->
  let closed, tell_closed = Promise.create () in
  let serve_then client =
    Fiber.first (fun () -> Promise.await closed) (fun () -> Eio.Time.sleep clock 1.);
    serve client
  in
  while Connection.is_readable socket do
    accept ~sw socket serve_then
  done;
  Eio.Net.close socket;
  Promise.resolve tell_closed ()

(* An accept loop on each domain. None accepts before all are there: the start of a domain fails
   where clients have taken all files. When all loops have left, one fiber accepts the last
   clients. *)
let accept_all { settings; _ } ~clock ~manager ~stop socket serve =
  let starts = Muster.Latch.create settings.accept_domains in
  let loops = Muster.Latch.create settings.accept_domains in
  let room = Eio.Semaphore.make 1_000 in
  let accept ~sw socket serve = accept ~clock ~room ~sw socket serve in
  let loop () =
    Switch.run @@ fun sw ->
    Muster.Latch.count_down starts;
    Muster.Latch.await starts;
    Fiber.first
      (fun () -> accept_for_ever accept ~sw socket serve)
      (fun () -> Promise.await stop);
    Muster.Latch.count_down loops
  in
  let close () =
    Muster.Latch.await loops;
    accept_the_last accept ~clock socket serve
  in
  let elsewhere _ () = Eio.Domain_manager.run manager loop in
  Fiber.all (close :: loop :: List.init (settings.accept_domains - 1) elsewhere)

(* Requests that have come are answered. The clients have the grace to take the answers, and a second
   after the last solve; all ends when the last one has taken its answer. *)
let finish t ~clock tell_stop =
  Promise.resolve tell_stop ();
  Fiber.both t.drain (fun () -> Eio.Time.sleep clock t.settings.grace);
  Eio.Time.sleep clock 1.

let run env settings =
  Switch.run @@ fun sw ->
  Sys.set_signal Sys.sigpipe Signal_ignore;
  let clock = Eio.Stdenv.clock env and manager = Eio.Stdenv.domain_mgr env in
  let signals = signals () and stop, tell_stop = Promise.create () in
  let t = make ~sw ~clock ~domain_manager:manager settings in
  let socket = listen ~sw (Eio.Stdenv.net env) settings.port in
  let serve = Connection.serve ~clock ~stop settings.limits (handle t) in
  let until_the_end () =
    follow t signals ~seen:0;
    finish t ~clock tell_stop
  in
  Fiber.first (fun () -> accept_all t ~clock ~manager ~stop socket serve) until_the_end
