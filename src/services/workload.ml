module Machine = Muster_core.Machine

type outcome = Returned | Failed | Cancelled | Expired | Full | Draining

let outcomes = [| Returned; Failed; Cancelled; Expired; Full; Draining |]

type t = { counts : int Atomic.t array; queue : Histogram.t; work : Histogram.t }

let make () =
  let counts = Array.map (fun _ -> Atomic.make 0) outcomes in
  { counts; queue = Histogram.make (); work = Histogram.make () }

let index outcome = Option.get (Array.find_index (( = ) outcome) outcomes)
let note t outcome = Atomic.incr t.counts.(index outcome)
let waited t ~since = Histogram.note t.queue (Machine.now () - since)
let worked t ~since = Histogram.note t.work (Machine.now () - since)

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
  let count outcome = Atomic.get t.counts.(index outcome) in
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
