type submit = (unit -> unit) -> unit

type t = {
  fibers : (unit -> unit) list -> unit;
  executor_pool : int -> (submit -> unit) -> unit;
}

let within = None
