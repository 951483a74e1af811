(* Bad arguments of the packages for Eio and Lwt, and calls from where there is no loop, or after its
   end. *)

open Bad_case
open Muster
module Switch = Eio.Switch
module Jobs = Muster_eio.Executor_pool

let interfaces =
  [
    ("Muster_eio.", "bridges/eio/muster_eio.mli"); ("Muster_lwt.", "bridges/lwt/muster_lwt.mli");
  ] [@@ocamlformat "disable"]

let invalid_of call run message = raises call run (Invalid_argument message)

let in_stopped_task f () =
  let stopped s = Task.cancel_scope s; f () in
  Task.await (Task.async (fun () -> Task.scope stopped))

(* {2 Eio} *)

let in_eio f = Eio_posix.run (fun env -> Switch.run (f (Eio.Stdenv.domain_mgr env)))
let pool manager sw = Jobs.create ~sw ~domain_count:1 manager
let loop _ sw = Muster_eio.loop ~sw
let switch _ sw = sw
let calls_eio = Eio.Fiber.check
let no_loop = Effect.Unhandled Eio.Private.Effects.Get_context

(* [call manager sw], where [sw] is open, but not the caller's. *)
let of_switch fn call =
  let elsewhere = Invalid_argument "Switch accessed from wrong domain!" in
  let call manager sw = ignore (call manager sw) in
  [
    invalid_of (fn ^ ", of a finished switch")
      (fun () ->
        let finished = in_eio switch in
        in_eio (fun manager _ -> call manager finished))
      "Switch finished!";
    raises (fn ^ ", in another domain")
      (fun () ->
        in_eio (fun manager sw -> Eio.Domain_manager.run manager (fun () -> call manager sw)))
      elsewhere;
    raises (fn ^ ", in a thread without a loop")
      (fun () -> in_eio (fun manager sw -> in_thread (fun () -> call manager sw)))
      no_loop;
  ]

let loops =
  [
    raises "Muster_eio.run f, where f calls Eio"
      (fun () -> in_eio (fun _ _ -> Muster_eio.run calls_eio))
      no_loop;
    raises "Muster_eio.run f, in a cancelled task"
      (in_stopped_task (fun () -> Muster_eio.run ignore))
      Task.Cancelled;
    fine "Muster_eio.run f, in a thread without a loop" 1 (fun () -> Muster_eio.run (fun () -> 1));
  ]
  @ of_switch "Muster_eio.loop ~sw" loop
  @ [
      raises "Muster_eio.on_loop loop f, of a finished switch"
        (fun () -> Muster_eio.on_loop (in_eio loop) ignore)
        Muster_eio.Ended;
      raises "Muster_eio.on_loop loop f, in a cancelled task"
        (in_stopped_task (fun () -> Muster_eio.on_loop (in_eio loop) ignore))
        Task.Cancelled;
      fine "Muster_eio.on_loop loop f, in the loop" () (fun () ->
          in_eio (fun manager sw -> Muster_eio.on_loop (loop manager sw) calls_eio));
      fine "Muster_eio.on_loop loop f, in a function of on_loop" () (fun () ->
          in_eio (fun manager sw ->
              let loop = loop manager sw in
              Muster_eio.on_loop loop (fun () -> Muster_eio.on_loop loop calls_eio)));
    ]

let counts =
  let count n what =
    invalid_of
      (Printf.sprintf "Muster_eio.Executor_pool.create ~domain_count:(%d)" n)
      (fun () ->
        in_eio (fun manager sw -> ignore (Jobs.create ~sw ~domain_count:n manager)))
      (Printf.sprintf "Muster_eio.Executor_pool.create: domain_count = %d is %s" n what)
  in
  [ count 0 "less than 1"; count (-1) "less than 1"; count max_int "more than 1,000,000" ]

let calls_of_jobs =
  let forked sw t ~weight f = Eio.Promise.await_exn (Jobs.submit_fork ~sw t ~weight f) in
  [
    ("submit", fun _ t ~weight f -> ignore (Jobs.submit t ~weight f));
    ("submit_exn", fun _ t ~weight f -> Jobs.submit_exn t ~weight f);
    ("submit_fork", forked);
  ] [@@ocamlformat "disable"]

let jobs_of (name, submit) =
  let fn = "Muster_eio.Executor_pool." ^ name in
  let call weight () = in_eio (fun manager sw -> submit sw (pool manager sw) ~weight ignore) in
  let weighs weight =
    invalid_of
      (Printf.sprintf "%s ~weight:(%g)" fn weight)
      (call weight)
      (Printf.sprintf "%s: weight = %g is not between 0 and 1" fn weight)
  in
  List.map weighs [ -0.1; 1.1; nan; infinity; neg_infinity ]
  @ [
      invalid_of (fn ^ ", of a finished switch's pool")
        (fun () ->
          let ended = in_eio pool in
          in_eio (fun _ sw -> submit sw ended ~weight:1. ignore))
        (fn ^ ": the pool's switch has ended");
      fine (fn ^ " ~weight:0") () (call 0.);
    ]

let pools_of_jobs =
  let fork t sw = Jobs.submit_fork ~sw t ~weight:1. ignore in
  counts
  @ of_switch "Muster_eio.Executor_pool.create ~sw" pool
  @ List.concat_map jobs_of calls_of_jobs
  @ of_switch "Muster_eio.Executor_pool.submit_fork ~sw" (fun _ -> fork (in_eio pool))

(* {2 Lwt} *)

let in_lwt f = Lwt_main.run (Lwt.bind (Lwt.pause ()) f)
let on_loop () = Muster_lwt.on_loop Lwt.return
let calls_it () = Lwt.return (on_loop ())
let name_of = function Lwt.Canceled -> Some "Lwt.Canceled" | _ -> None
let () = Printexc.register_printer name_of

let lwt =
  let in_loop = "Muster_lwt.on_loop: called in the main loop, which it would wait for" in
  let after_on_loop f = in_lwt (fun () -> Muster_lwt.run (fun () -> Muster_lwt.on_loop f)) in
  let cancelled () = Task.async (fun () -> raise Task.Cancelled) in
  [
    raises "Muster_lwt.run f, cancelled"
      (fun () ->
        let p = Muster_lwt.run ignore in
        Lwt.cancel p;
        in_lwt (fun () -> p))
      Lwt.Canceled;
    raises "Muster_lwt.await t, of a cancelled task"
      (fun () -> in_lwt (fun () -> Muster_lwt.await (cancelled ())))
      Lwt.Canceled;
    invalid_of "Muster_lwt.on_loop f, in the main loop" (fun () -> in_lwt calls_it) in_loop;
    invalid_of "Muster_lwt.on_loop f, in a function of on_loop"
      (fun () -> after_on_loop calls_it)
      in_loop;
    raises "Muster_lwt.on_loop f, in a cancelled task" (in_stopped_task on_loop) Task.Cancelled;
    raises "Muster_lwt.on_loop f, whose promise is cancelled"
      (fun () -> after_on_loop (fun () -> Lwt.fail Lwt.Canceled))
      Lwt.Canceled;
    fine "Muster_lwt.run f, before the main loop" 1 (fun () ->
        let p = Muster_lwt.run (fun () -> 1) in
        in_lwt (fun () -> p));
    fine "Muster_lwt.on_loop f, between two runs of the main loop" () (fun () ->
        in_lwt Lwt.return;
        let t = Task.async on_loop in
        in_lwt (fun () -> Muster_lwt.await t));
  ]

let tables =
  [
    { title = "Muster_eio"; rows = loops @ pools_of_jobs; harmless = [] };
    { title = "Muster_lwt"; rows = lwt; harmless = [] };
  ]
