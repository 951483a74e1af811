let now () = Int64.to_float (Mtime_clock.now_ns ())

let time f =
  let start = Mtime_clock.now_ns () in
  f ();
  Int64.to_float (Int64.sub (Mtime_clock.now_ns ()) start)

let show nanoseconds =
  let scaled unit_ = Printf.sprintf "%.2f %s" (nanoseconds /. unit_) in
  if nanoseconds < 1e3 then scaled 1. "ns"
  else if nanoseconds < 1e6 then scaled 1e3 "µs"
  else if nanoseconds < 1e9 then scaled 1e6 "ms"
  else scaled 1e9 "s"

let today () =
  let t = Unix.gmtime (Unix.time ()) in
  Printf.sprintf "%04d-%02d-%02d" (t.tm_year + 1900) (t.tm_mon + 1) t.tm_mday
