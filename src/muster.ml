module Cpu = Muster_core.Cpu
module Pool = Muster_core.Pool
module Task = Muster_core.Task
module Team = Team

let both = Muster_core.Fork.both
let parallel_for = Loop.parallel_for
let parallel_reduce = Reduce.parallel_reduce
let parallel_scan = Reduce.parallel_scan
let parallel_find = Loop.parallel_find
