open Lwt.Syntax

let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)

let both_fibs () =
  let a, b = Muster.both (fun () -> fib 30) (fun () -> fib 31) in
  Muster_lwt.on_loop (fun () -> Lwt_io.printl "computed");
  a + b

let main () =
  let within_a_second = Lwt_unix.with_timeout 1.0 in
  let* n = within_a_second (fun () -> Muster_lwt.run both_fibs) in
  Lwt_io.printf "%d\n" n
