open Domainslib
let rec fib pool n = if n < 2 then 1 else
  let a = Task.async pool (fun () -> fib pool (n-1)) in
  let b = Task.async pool (fun () -> fib pool (n-2)) in
  Task.await pool a + Task.await pool b
let sel = try Sys.argv.(2) with _ -> "all"
let time name f = if sel <> "all" && not (List.mem (String.sub (name ^ "    ") 0 6) (String.split_on_char ',' sel)) then Obj.magic 0 else let t = Unix.gettimeofday () in let v = f () in Printf.printf "%s %.4f s\n%!" name (Unix.gettimeofday () -. t); v
let () =
  let d = int_of_string Sys.argv.(1) in
  let pool = Task.setup_pool ~num_domains:d () in
  let v = time "fib" (fun () -> Task.run pool (fun () -> fib pool 27)) in
  Printf.printf "%d\n" v;
  let a = Array.make 1000 0 in
  time "loops" (fun () -> Task.run pool (fun () -> for _ = 1 to 10000 do Task.parallel_for pool ~start:0 ~finish:999 ~body:(fun i -> a.(i) <- a.(i) + i) done));
  time "loops128" (fun () -> Task.run pool (fun () -> for _ = 1 to 10000 do Task.parallel_for pool ~start:0 ~finish:127 ~body:(fun i -> a.(i) <- a.(i) + i) done));
  time "loops2" (fun () -> Task.run pool (fun () -> for _ = 1 to 10000 do Task.parallel_for pool ~start:0 ~finish:1 ~body:(fun i -> a.(i) <- a.(i) + i) done));
  time "loops chunk 1" (fun () -> Task.run pool (fun () -> for _ = 1 to 1000 do Task.parallel_for pool ~chunk_size:1 ~start:0 ~finish:999 ~body:(fun i -> a.(i) <- a.(i) + i) done));
  let s = time "reduce 1000" (fun () -> Task.run pool (fun () -> let r = ref 0 in for _ = 1 to 10000 do r := Task.parallel_for_reduce pool (+) 0 ~start:0 ~finish:999 ~body:(fun i -> i) done; !r)) in
  let s2 = time "reducef 10^6" (fun () -> Task.run pool (fun () -> let r = ref 0. in for _ = 1 to 20 do r := Task.parallel_for_reduce pool (+.) 0. ~start:1 ~finish:1_000_000 ~body:(fun i -> 1. /. float i) done; !r)) in
  let () = if sel <> "all" then exit 0 in let b = Array.init 1_000_000 (fun i -> 1. /. float (i+1)) in
  let c = time "scan 10^6" (fun () -> Task.run pool (fun () -> let r = ref b in for _ = 1 to 20 do r := Task.parallel_scan pool (+.) b done; !r)) in
  let b1 = Array.init 500 (fun i -> i) in
  let c1 = time "scan 500" (fun () -> Task.run pool (fun () -> let r = ref b1 in for _ = 1 to 10000 do r := Task.parallel_scan pool (+) b1 done; !r)) in
  Printf.printf "%d %h %s %d\n" s s2 (Digest.to_hex (Digest.string (Marshal.to_string c []))) c1.(499);
  Task.teardown_pool pool
