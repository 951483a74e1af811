let rec afib n = if n < 2 then n else
  let a = Muster.Task.async (fun () -> afib (n-1)) in
  let b = Muster.Task.async (fun () -> afib (n-2)) in
  Muster.Task.await a + Muster.Task.await b
let rec fib n = if n < 2 then n else
  let a, b = Muster.both (fun () -> fib (n-1)) (fun () -> fib (n-2)) in a + b
let time f = let t = Unix.gettimeofday () in ignore (f ()); Unix.gettimeofday () -. t
let () =
  let what = Sys.argv.(1) in
  let d = int_of_string Sys.argv.(2) in
  Muster.Pool.with_ ~domains:d (fun p -> Muster.Pool.run p (fun () ->
    let ts = List.init 9 (fun _ -> match what with
      | "afib" -> time (fun () -> afib 25) /. 242785. 
      | "fib" -> time (fun () -> fib 33) /. 11405773.
      | "bc" -> time (fun () -> for _ = 1 to 300000 do Muster.Team.broadcast p (fun _ -> ()) done) /. 3e5
      | "slices" -> time (fun () -> for _ = 1 to 300000 do Muster.Team.for_slices p 128 (fun ~worker:_ ~start:_ ~count:_ -> ()) done) /. 3e5
      | "dyn" -> time (fun () -> for _ = 1 to 300000 do Muster.Team.for_n_dynamic p 128 (fun ~worker:_ i -> ignore (Sys.opaque_identity i)) done) /. 3e5
      | "for" -> time (fun () -> for _ = 1 to 100000 do Muster.parallel_for ~start:1 ~finish:128 (fun i -> ignore (Sys.opaque_identity i)) done) /. 1e5
      | _ -> failwith "what") in
    let ts = List.sort compare ts in
    Printf.printf "%s %d: min %.1f median %.1f ns\n%!" what d (1e9 *. List.hd ts) (1e9 *. List.nth ts 4)))
