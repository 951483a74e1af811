(* Muster.Parallel.Array against Stdlib.Array; where that lacks an operation, against the shortest way to
   write it with the stdlib, and for comparison against the loop that one would write by hand. *)

module Ours = Muster_collections.Array

let xorshift x =
  let x = x lxor (x lsl 13) in
  let x = x lxor (x lsr 7) in
  x lxor (x lsl 17)

let random_ints n =
  let x = ref 88172645463325252 in
  Array.init n (fun _ ->
      x := xorshift !x;
      !x land max_int)

let rec rounds k x = if k = 0 then x else rounds (k - 1) (xorshift x)

(* How many rounds take 20 ns, loop included. *)
let body_of_20_ns () =
  let a = random_ints 10_000 in
  let cost k =
    let f = Sys.opaque_identity (rounds k) in
    let once () = Measure.per_call ~budget:1e6 (fun () -> Array.iter (fun x -> ignore (f x)) a) in
    List.fold_left Float.min infinity (List.init 5 (fun _ -> once ())) /. 1e4
  in
  let rec least k = if cost k >= 20. then k else least (k + 1) in
  let k = least 1 in
  Sys.opaque_identity (fun x -> rounds k x)

let hand_filter p a =
  let n = Array.length a in
  let kept = Array.make n 0 and count = ref 0 in
  for i = 0 to n - 1 do
    let x = Array.unsafe_get a i in
    if p x then begin
      Array.unsafe_set kept !count x;
      incr count
    end
  done;
  Array.sub kept 0 !count

let seq_filter p a = Array.of_seq (Seq.filter p (Array.to_seq a))
let list_filter p a = Array.of_list (List.filter p (Array.to_list a))

let hand_scan op a =
  let r = Array.copy a in
  for i = 1 to Array.length a - 1 do
    Array.unsafe_set r i (op (Array.unsafe_get r (i - 1)) (Array.unsafe_get a i))
  done;
  r

let fold_scan op a =
  let step acc x =
    let next = op acc x in
    (next, next)
  in
  snd (Array.fold_left_map step 0 a)

let is_chosen = Sys.opaque_identity (fun x -> x land 1 = 0)
let is_natural = Sys.opaque_identity (fun x -> x >= 0)
let plus = Sys.opaque_identity (fun x y -> x + y)
let successor = Sys.opaque_identity (fun x -> x + 1)
let float_successor = Sys.opaque_identity (fun x -> x +. 1.)
let text = Sys.opaque_identity (fun x -> Some x)

let cases n =
  let a = random_ints n and body = body_of_20_ns () in
  let floats = Array.map float_of_int a in
  let bar = Case.bar_of n in
  let case name against bar ours theirs = Case.make name n ~against bar ~ours ~theirs in
  let open Ours in
  [
    case "map, 20 ns" "Array.map" bar (fun () -> map body a) (fun () -> Array.map body a);
    case "filter" "of_seq, to_seq" bar
      (fun () -> filter is_chosen a)
      (fun () -> seq_filter is_chosen a);
    case "filter" "of_list, to_list" bar
      (fun () -> filter is_chosen a)
      (fun () -> list_filter is_chosen a);
    case "filter" "a loop by hand" Case.Note
      (fun () -> filter is_chosen a)
      (fun () -> hand_filter is_chosen a);
    case "scan" "fold_left_map" bar (fun () -> scan plus a) (fun () -> fold_scan plus a);
    case "scan" "a loop by hand" Case.Note (fun () -> scan plus a) (fun () -> hand_scan plus a);
    case "map, x + 1" "Array.map" Case.Note
      (fun () -> map successor a)
      (fun () -> Array.map successor a);
    case "map, boxed" "Array.map" Case.Note (fun () -> map text a) (fun () -> Array.map text a);
    case "map, x +. 1." "Array.map" Case.Note
      (fun () -> map float_successor floats)
      (fun () -> Array.map float_successor floats);
    case "init, 20 ns" "Array.init" Case.Note (fun () -> init n body) (fun () -> Array.init n body);
    case "iter, 20 ns" "Array.iter" Case.Note
      (fun () -> iter (fun x -> ignore (body x)) a)
      (fun () -> Array.iter (fun x -> ignore (body x)) a);
    case "fold" "fold_left" Case.Note (fun () -> fold plus 0 a) (fun () -> Array.fold_left plus 0 a);
    case "for_all" "Array.for_all" Case.Note
      (fun () -> for_all is_natural a)
      (fun () -> Array.for_all is_natural a);
    case "mem" "Array.mem" Case.Note (fun () -> mem (-1) a) (fun () -> Array.mem (-1) a);
  ]
