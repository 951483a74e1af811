type t = {
  mutable thread : int;
  mutable looked_at : int;
  mutable wall : int;
  mutable cpu : int;
  mutable queued : int;
}

let make () = Compat.padded { thread = 0; looked_at = 0; wall = 0; cpu = 0; queued = 0 }
let has_looked t = t.looked_at <> 0

let arrive t thread =
  t.thread <- thread;
  t.looked_at <- 0

let come_back t thread = if t.thread <> thread then arrive t thread
let note_look t = t.looked_at <- Machine.ticks ()

let begin_to_look t =
  note_look t;
  t.wall <- 0

let look t = if has_looked t then note_look t else begin_to_look t
let ticks_since_look t = Machine.ticks () - t.looked_at

let measure t ~noticed =
  let wall = Machine.now () and cpu = Machine.thread_cpu () in
  let is_first = t.wall = 0 in
  let gap = wall - t.wall - (cpu - t.cpu) in
  t.wall <- wall;
  t.cpu <- cpu;
  if not (is_first || gap >= noticed) then 0
  else begin
    let queued = Machine.run_queue_wait () in
    let since = queued - t.queued in
    t.queued <- queued;
    if is_first then 0 else Int.min gap since
  end
