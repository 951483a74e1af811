module Chan = Chan
module Cpu = Muster_core.Cpu
module Pool = Muster_core.Pool

module Task = struct
  include Muster_core.Task

  type scope = Muster_core.Scope.t

  exception Deadline_exceeded = Muster_core.Scope.Deadline_exceeded

  let scope = Muster_core.Scope.within
  let fork s f = Muster_core.Scope.fork s f
  let cancel_scope = Muster_core.Scope.stop
  let with_deadline = Muster_core.Scope.with_deadline
  let all = Several.all
  let first = Several.first
  let any = Tasks.any
  let is_done = Tasks.is_done
  let peek = Tasks.peek
  let sleep = Tasks.sleep
  let yield = Tasks.yield
  let protect = Tasks.protect
  let bracket = Tasks.bracket

  type 'a local = 'a Local.t

  let local = Local.create
  let get_local = Local.get
  let with_local = Local.within
  let blocking f = Muster_blocking.Blocking.call (Muster_core.Fiber.inherit_here f)
  let map = Bounded.map
  let iter = Bounded.iter
  let iter_seq = Bounded.iter_seq
  let with_map = Bounded.with_map
end

module Promise = struct
  type 'a resolver = 'a Resolver.t

  let create = Resolver.create
  let resolve = Resolver.resolve
  let try_resolve = Resolver.try_resolve
  let fail = Resolver.fail
  let try_fail = Resolver.try_fail
end

module Team = Muster_loop.Team
module Mutex = Mutex
module Condition = Condition
module Semaphore = Semaphore
module Barrier = Barrier
module Latch = Latch
module Rwlock = Rwlock
module Lazy = Lazy
module Table = Table
module Workers = Workers

(* By the names that programs have for them. *)
let name_of = function
  | Task.Cancelled -> Some "Muster.Task.Cancelled"
  | Task.Deadline_exceeded -> Some "Muster.Task.Deadline_exceeded"
  | Chan.Closed -> Some "Muster.Chan.Closed"
  | Workers.Rejected Full -> Some "Muster.Workers.Rejected Full"
  | Workers.Rejected Expired -> Some "Muster.Workers.Rejected Expired"
  | Workers.Rejected Draining -> Some "Muster.Workers.Rejected Draining"
  | _ -> None

let () = Printexc.register_printer name_of
let both = Muster_core.Fork.both
let parallel_for = Muster_loop.Loop.parallel_for
let parallel_for2 = Muster_loop.Loop.parallel_for2
let parallel_for_init = Muster_loop.Loop.parallel_for_init
let parallel_reduce = Muster_loop.Reduce.parallel_reduce
let parallel_for_range = Muster_loop.Parts.parallel_for_range
let parallel_reduce_range = Muster_loop.Parts.parallel_reduce_range
let parallel_scan = Muster_collections.Array.scan
let parallel_find = Muster_loop.Loop.parallel_find
let random_state ~seed i = Random.State.make [| seed; i |]

module Parallel = struct
  module Array = Muster_collections.Array
  module Floatarray = Muster_collections.Floatarray
  module Bigarray = Muster_collections.Bigarray
  module Bytes = Muster_collections.Bytes
  module String = Muster_collections.String
  module List = Muster_collections.List
  module Seq = Muster_collections.Seq
end

(* The paths of old. [open Muster] brings them, too, and must not change what a program's
   [List.iter] does: the stdlib's functions come last, and win. *)

module Bytes = Stdlib.Bytes
module String = Stdlib.String
module Floatarray = Parallel.Floatarray

module Array = struct
  include Parallel.Array
  include Stdlib.Array
end

module List = struct
  include Parallel.List
  include Stdlib.List
end

module Seq = struct
  include Parallel.Seq
  include Stdlib.Seq
end

module Bigarray = struct
  include Stdlib.Bigarray

  module Array1 = struct
    include Parallel.Bigarray.Array1
    include Stdlib.Bigarray.Array1
  end
end
