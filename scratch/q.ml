open Muster
let () = Pool.with_ ~domains:(int_of_string Sys.argv.(1)) ~oversubscribe:true (fun p -> Pool.run p (fun () ->
  for _ = 1 to 7 do
    let ran = Atomic.make 0 and since = ref 0. and q = ref 0. in
    let t0 = Unix.gettimeofday () in
    (match Task.scope (fun s ->
       for _ = 1 to 100_000 do ignore (Task.fork s (fun () -> Atomic.incr ran)) done;
       since := Unix.gettimeofday (); raise Exit) with () -> () | exception Exit -> ());
    q := Unix.gettimeofday ();
    Printf.printf "queue %.1f ms cancel %.1f ms ran %d\n%!" ((!since -. t0) *. 1e3) (1e3 *. (!q -. !since)) (Atomic.get ran)
  done))
