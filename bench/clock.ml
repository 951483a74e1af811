let time f =
  let start = Mtime_clock.now_ns () in
  f ();
  Int64.to_float (Int64.sub (Mtime_clock.now_ns ()) start)

let today () =
  let t = Unix.gmtime (Unix.time ()) in
  Printf.sprintf "%04d-%02d-%02d" (t.tm_year + 1900) (t.tm_mon + 1) t.tm_mday
