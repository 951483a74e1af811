type outcome = Returned | Failed | Cancelled | Expired | Full | Draining

let outcomes = [ Returned; Failed; Cancelled; Expired; Full; Draining ]

type t = { ends : (outcome * int Atomic.t) list; queue : Histogram.t; work : Histogram.t }

let make () =
  let ends = List.map (fun outcome -> (outcome, Atomic.make 0)) outcomes in
  { ends; queue = Histogram.make (); work = Histogram.make () }

let note t outcome = Atomic.incr (List.assq outcome t.ends)
let waited t ns = Histogram.note t.queue ns
let worked t ns = Histogram.note t.work ns

module Public = struct
  type times = Histogram.shot = { counts : int array; count : int; seconds : float }

  let quantile = Histogram.quantile

  type stats = {
    workers : int;
    busy : int;
    queued : int;
    returned : int;
    failed : int;
    cancelled : int;
    expired : int;
    full : int;
    draining : int;
    queue_time : times;
    work_time : times;
  }
end

let stats t ~workers ~busy ~queued =
  let count outcome = Atomic.get (List.assq outcome t.ends) in
  Public.
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
      queue_time = Histogram.shot t.queue;
      work_time = Histogram.shot t.work;
    }
