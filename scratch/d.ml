module T = Domainslib.Task
let rec afib p n = if n < 2 then n else
  let a = T.async p (fun () -> afib p (n-1)) in
  let b = T.async p (fun () -> afib p (n-2)) in
  T.await p a + T.await p b
let time f = let t = Unix.gettimeofday () in ignore (f ()); Unix.gettimeofday () -. t
let () =
  let d = int_of_string Sys.argv.(1) in
  let p = T.setup_pool ~num_domains:(d-1) () in
  let ts = T.run p (fun () -> List.init 5 (fun _ -> time (fun () -> afib p 25) /. 242785.)) in
  let ts = List.sort compare ts in
  Printf.printf "domainslib %d: min %.1f median %.1f ns\n%!" d (1e9 *. List.hd ts) (1e9 *. List.nth ts 2)
