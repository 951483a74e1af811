(* How many primes there are below [n]. *)
let primes_below n =
  let is_prime i = i > 1 && Seq.(for_all (fun d -> i mod d > 0) (take (i - 2) (ints 2))) in
  Muster.parallel_reduce ~start:0 ~finish:(n - 1) ~combine:( + ) ~init:0 (fun i ->
      Bool.to_int (is_prime i))

(* The loop goes on while the pool computes. A client that hangs up cancels its fiber, and so the
   computation. *)
let answer flow line =
  let primes = Muster_eio.run (fun () -> primes_below (int_of_string line)) in
  Eio.Flow.copy_string (string_of_int primes ^ "\n") flow

(* A task that has the loop do something: each result goes out as soon as it is there. *)
let answer_all flow lines =
  Eio.Switch.run (fun sw ->
      let loop = Muster_eio.loop ~sw in
      let answer n =
        let text = Printf.sprintf "%d: %d\n" n (primes_below n) in
        Muster_eio.on_loop loop (fun () -> Eio.Flow.copy_string text flow)
      in
      Muster_eio.run (fun () -> Muster.Task.iter ~max:8 answer lines))
