module Task = struct
  module Pools = Muster_domainslib_pool
  module Loops = Muster_domainslib_loops

  type 'a task = unit -> 'a

  (* A type of its own, of which the compiler knows that it depends on ['a]. *)
  type 'a promise = Promise of 'a Muster_core.Task.t [@@unboxed]
  type pool = Pools.t

  let setup_pool = Pools.setup
  let teardown_pool = Pools.teardown
  let lookup_pool = Pools.lookup
  let get_num_domains = Pools.num_domains
  let run = Pools.run
  let async pool f = Promise (Pools.async pool f)
  let await pool (Promise p) = Pools.await pool p
  let parallel_for = Loops.parallel_for
  let parallel_for_reduce = Loops.parallel_for_reduce
  let parallel_scan = Loops.parallel_scan
  let parallel_find = Loops.parallel_find
end

module Chan = struct
  module Chan = Muster.Chan

  type 'a t = Chan of 'a Chan.t [@@unboxed]

  let make_bounded n =
    if n < 0 then invalid_arg "Chan.make_bounded";
    Chan (Chan.bounded n)

  let make_unbounded () = Chan (Chan.unbounded ())
  let send (Chan c) v = Chan.send c v
  let send_poll (Chan c) v = Chan.try_send c v
  let recv (Chan c) = Chan.recv c
  let recv_poll (Chan c) = Chan.try_recv c
end
