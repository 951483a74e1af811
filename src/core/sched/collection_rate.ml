(* A worker that waits for a CPU does harm where it holds up a collection: then all the others
   wait with it. Where collections are rare, it does no harm.

   The clock is the CPU time of the process: in wall time, collections are rarest where they are
   held up most. The first worker whose heap is full calls for a collection, so [running] workers
   make no more of them than one does, in [running] times the CPU time; and each holds up [cpus -
   1] others. *)

type t = { cpu : int; collections : int; often : bool }

let ms = 1_000_000

(* CPU time for each halt of a worker. *)
let bearable = 10 * ms

(* The CPU time that is judged at a time. *)
let enough = 80 * ms

let start = { cpu = 0; collections = 0; often = true }

let observe ~cpus ~running t ~cpu ~collections =
  let busy = cpu - t.cpu in
  let paid_for = (collections - t.collections) * running * (cpus - 1) * bearable in
  if cpu < 0 || Int.max busy paid_for < enough then t
  else { cpu; collections; often = paid_for >= busy }
