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
