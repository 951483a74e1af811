module Chan = Muster_sync.Chan
module Cpu = Muster_core.Cpu
module Pool = Muster_core.Pool
module Task = Muster_core.Task
module Team = Muster_loop.Team

let both = Muster_core.Fork.both
let parallel_for = Muster_loop.Loop.parallel_for
let parallel_reduce = Muster_loop.Reduce.parallel_reduce
let parallel_scan = Muster_loop.Reduce.parallel_scan
let parallel_find = Muster_loop.Loop.parallel_find
