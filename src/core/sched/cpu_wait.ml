type t = {
  mutable thread : int;  (** the last one here *)
  mutable looked_at : int;  (** in ticks; 0: not since it came *)
  mutable queued : int;  (** its time in the run queue when it measured last, in ns; -1: unknown *)
}

let make () = Compat.padded { thread = 0; looked_at = 0; queued = -1 }

let arrive t thread =
  if t.thread <> thread then begin
    t.thread <- thread;
    t.looked_at <- 0
  end

let is_new t = t.looked_at = 0

let look t =
  if is_new t then t.queued <- -1;
  t.looked_at <- Machine.ticks ()

let ticks_since_look t = Machine.ticks () - t.looked_at

let measure t ~noticed =
  let before = t.queued in
  t.queued <- Machine.run_queue_wait ();
  let waited = if before < 0 || t.queued < 0 then 0 else t.queued - before in
  if waited < noticed then 0 else waited
