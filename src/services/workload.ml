type outcome = Returned | Failed | Cancelled | Expired | Full | Draining

let outcomes = [ Returned; Failed; Cancelled; Expired; Full; Draining ]

type t = { ends : (outcome * int Atomic.t) list; queue : Histogram.t; work : Histogram.t }

let make () =
  let ends = List.map (fun outcome -> (outcome, Atomic.make 0)) outcomes in
  { ends; queue = Histogram.make (); work = Histogram.make () }

let note t outcome = Atomic.incr (List.assq outcome t.ends)
let waited t ns = Histogram.note t.queue ns
let worked t ns = Histogram.note t.work ns

let stats t ~workers ~busy ~queued =
  let count outcome = Atomic.get (List.assq outcome t.ends) in
  Job_stats.
    {
      workers;
      busy;
      queued;
      returned = count Returned;
      failed = count Failed;
      cancelled = count Cancelled;
      expired = count Expired;
      full = count Full;
      draining = count Draining;
      queue_time = Histogram.times t.queue;
      work_time = Histogram.times t.work;
    }
