open Muster.Parallel
module L = Stdlib.List
let now = Unix.gettimeofday
let time n f = 
  let reps = max 1 (300_000 / n) in
  let t = now () in
  for _ = 1 to reps do ignore (Sys.opaque_identity (f ())) done;
  (now () -. t) /. float_of_int reps *. 1e9
let () =
  Random.init 3;
  L.iter (fun n ->
    let l = L.init n (fun _ -> Random.bits ()) in
    let cmp = Sys.opaque_identity (fun (a : int) b -> compare a b) in
    let sl = L.map string_of_int l in
    let by_array cmp l = let a = Array.of_list l in Array.sort cmp a; Array.to_list a in
    let case name ours theirs now_ = 
      let o = ref infinity and t = ref infinity and m = ref infinity in
      for _ = 1 to 10 do o := Float.min !o (time n ours); t := Float.min !t (time n theirs);  m := Float.min !m (time n now_)done;
      Printf.printf "%8d %-12s array %9.0f ns  now %9.0f stdlib %9.0f  %5.2f %5.2f\n%!" n name !o !m !t (!o /. !t) (!m /. !t) in
    case "ints" (fun () -> by_array cmp l) (fun () -> L.stable_sort cmp l) (fun () -> List.sort cmp l);
    case "strings" (fun () -> by_array String.compare sl) (fun () -> L.stable_sort String.compare sl) (fun () -> List.sort String.compare sl))
  [2; 5; 10; 20; 100; 1000]
