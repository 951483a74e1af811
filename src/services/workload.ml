type outcome = Returned | Failed | Cancelled | Expired | Full | Draining

type t = {
  returned : int Atomic.t;
  failed : int Atomic.t;
  cancelled : int Atomic.t;
  expired : int Atomic.t;
  full : int Atomic.t;
  draining : int Atomic.t;
  queue : Histogram.t;
  work : Histogram.t;
}

let make () =
  let zero () = Atomic.make 0 in
  {
    returned = zero ();
    failed = zero ();
    cancelled = zero ();
    expired = zero ();
    full = zero ();
    draining = zero ();
    queue = Histogram.make ();
    work = Histogram.make ();
  }

let counter t = function
  | Returned -> t.returned
  | Failed -> t.failed
  | Cancelled -> t.cancelled
  | Expired -> t.expired
  | Full -> t.full
  | Draining -> t.draining

let note t outcome = Atomic.incr (counter t outcome)
let waited t = Histogram.note t.queue
let worked t = Histogram.note t.work

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
  let count outcome = Atomic.get (counter t outcome) in
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
