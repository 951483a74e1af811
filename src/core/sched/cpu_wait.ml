type t = {
  mutable thread : int;  (** the last one here *)
  mutable looked_at : int;  (** in ticks; 0: not since it came *)
  mutable wall : int;  (** in ns, when it measured last; 0: not since it came *)
  mutable cpu : int;  (** the thread's CPU time then *)
  mutable queued : int;  (** its time in the run queue then *)
}

let make () = Compat.padded { thread = 0; looked_at = 0; wall = 0; cpu = 0; queued = 0 }

let arrive t thread =
  if t.thread <> thread then begin
    t.thread <- thread;
    t.looked_at <- 0
  end

let is_new t = t.looked_at = 0

let look t =
  if is_new t then t.wall <- 0;
  t.looked_at <- Machine.ticks ()

let ticks_since_look t = Machine.ticks () - t.looked_at

let measure t ~now ~noticed =
  let cpu = Machine.thread_cpu () and is_first = t.wall = 0 in
  let gap = now - t.wall - (cpu - t.cpu) in
  t.wall <- now;
  t.cpu <- cpu;
  if not (is_first || gap >= noticed) then 0
  else begin
    let queued = Machine.run_queue_wait () in
    let since = queued - t.queued in
    t.queued <- queued;
    if is_first then 0 else Int.min gap since
  end
