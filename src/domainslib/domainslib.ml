module Task = struct
  module Pools = Muster_domainslib_pool
  module Loops = Muster_domainslib_loops

  type 'a task = unit -> 'a
  type 'a promise = 'a Muster_core.Task.t
  type pool = Pools.t

  let setup_pool = Pools.setup
  let teardown_pool = Pools.teardown
  let lookup_pool = Pools.lookup
  let get_num_domains = Pools.num_domains
  let run = Pools.run
  let async = Pools.async
  let await = Pools.await
  let parallel_for = Loops.parallel_for
  let parallel_for_reduce = Loops.parallel_for_reduce
  let parallel_scan = Loops.parallel_scan
  let parallel_find = Loops.parallel_find
end
