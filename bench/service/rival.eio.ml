type submit = (unit -> unit) -> unit

type t = {
  fibers : (unit -> unit) list -> unit;
  executor_pool : int -> (submit -> unit) -> unit;
}

let executor_pool env domain_count f =
  Eio.Switch.run (fun sw ->
      let manager = Eio.Stdenv.domain_mgr env in
      let pool = Eio.Executor_pool.create ~sw manager ~domain_count in
      f (Eio.Executor_pool.submit_exn pool ~weight:1.))

let within =
  Some
    (fun f ->
      Eio_main.run (fun env -> f { fibers = Eio.Fiber.all; executor_pool = executor_pool env }))
