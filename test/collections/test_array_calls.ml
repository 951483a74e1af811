(* What the collections promise beside their results: who is called, when, and what it costs. *)

open Harness
module A = Muster.Parallel.Array
module F = Muster.Parallel.Floatarray
module B = Muster.Parallel.Bytes
module S = Muster.Parallel.String
module G = Muster.Parallel.Bigarray.Array1

(* {2 Work that pays is shared} *)

let seen_domains f =
  let seen = Array.init 128 (fun _ -> Atomic.make false) in
  let visit x =
    Atomic.set seen.((Domain.self () :> int) land 127) true;
    burn 20e-6;
    x
  in
  f visit;
  Array.fold_left (fun n seen -> n + Bool.to_int (Atomic.get seen)) 0 seen

(* A thief may come late on a busy machine: again, until one has come (the guard ends it). *)
let is_shared name f =
  case (name ^ " is shared") (fun () ->
      run_on 3 (fun () ->
          while seen_domains f < 2 do
            ()
          done))

let n = 200
let a = Array.init n Fun.id
let floats = Stdlib.Float.Array.init n float_of_int
let bytes = Stdlib.Bytes.make n 'a'
let text = Stdlib.Bytes.to_string bytes
let bigarray = Bigarray.(Array1.init int fortran_layout n Fun.id)
let long = Array.init 1100 Fun.id

let shared =
  let no visit x =
    ignore (visit x);
    false
  in
  let none visit x =
    ignore (visit x);
    None
  in
  let greater visit x y = visit (max x y) in
  [
    is_shared "init" (fun visit -> ignore (A.init n visit));
    is_shared "init of two" (fun visit ->
        ignore
          (A.init 2 (fun i ->
               burn 1e-3;
               visit i)));
    is_shared "map" (fun visit -> ignore (A.map visit a));
    is_shared "mapi" (fun visit -> ignore (A.mapi (fun _ x -> visit x) a));
    is_shared "map2" (fun visit -> ignore (A.map2 (fun x _ -> visit x) a a));
    is_shared "map_inplace" (fun visit -> A.map_inplace visit (Array.copy a));
    is_shared "mapi_inplace" (fun visit -> A.mapi_inplace (fun _ x -> visit x) (Array.copy a));
    is_shared "iter" (fun visit -> A.iter (fun x -> ignore (visit x)) a);
    is_shared "iteri" (fun visit -> A.iteri (fun _ x -> ignore (visit x)) a);
    is_shared "iter2" (fun visit -> A.iter2 (fun x _ -> ignore (visit x)) a a);
    is_shared "fold" (fun visit -> ignore (A.fold (greater visit) 0 a));
    is_shared "reduce" (fun visit -> ignore (A.reduce (greater visit) a));
    is_shared "scan" (fun visit -> ignore (A.scan (greater visit) long));
    is_shared "min" (fun visit -> ignore (A.min (fun x y -> visit (x - y)) a));
    is_shared "count" (fun visit -> ignore (A.count (no visit) a));
    is_shared "exists" (fun visit -> ignore (A.exists (no visit) a));
    is_shared "for_all" (fun visit -> ignore (A.for_all (fun x -> visit x >= 0) a));
    is_shared "find_opt" (fun visit -> ignore (A.find_opt (no visit) a));
    is_shared "find_map" (fun visit -> ignore (A.find_map (none visit) a));
    is_shared "filter" (fun visit -> ignore (A.filter (no visit) a));
    is_shared "filter of many" (fun visit -> ignore (A.filter (no visit) long));
    is_shared "partition" (fun visit -> ignore (A.partition (no visit) a));
    is_shared "filter_map" (fun visit -> ignore (A.filter_map (none visit) a));
    is_shared "concat_map" (fun visit -> ignore (A.concat_map (fun x -> [| visit x |]) a));
    is_shared "group_by" (fun visit -> ignore (A.group_by (fun x -> visit x) a));
    is_shared "histogram" (fun visit -> ignore (A.histogram ~bins:n (fun x -> visit x) a));
    is_shared "Floatarray.map" (fun visit -> ignore (F.map visit floats));
    is_shared "Floatarray.filter" (fun visit -> ignore (F.filter (no visit) floats));
    is_shared "Bytes.map" (fun visit -> ignore (B.map visit bytes));
    is_shared "String.for_all" (fun visit -> ignore (S.for_all (fun c -> visit c = 'a') text));
    is_shared "Bigarray.map" (fun visit -> ignore (G.map visit bigarray));
    is_shared "Bigarray.fold" (fun visit -> ignore (G.fold (greater visit) 0 bigarray));
  ]

(* {2 Work that does not pay stays} *)

let in_order f =
  let next = ref 0 and ordered = ref true and self = Domain.self () in
  f (fun i ->
      if Domain.self () <> self || i <> !next then ordered := false else incr next;
      i);
  !ordered

(* What is remembered may be too much for some calls, where the machine kept the first ones
   waiting. *)
let stays () =
  run_on 3 @@ fun () ->
  let attempt f = List.exists (fun _ -> in_order f) (List.init 1000 Fun.id) in
  let small = Array.init 100 Fun.id in
  check_bool "map" true (attempt (fun visit -> ignore (A.map visit small)));
  check_bool "iter" true (attempt (fun visit -> A.iter (fun i -> ignore (visit i)) small));
  check_bool "filter" true (attempt (fun visit -> ignore (A.filter (fun i -> visit i > 9) small)))

(* {2 Results that are long} *)

(* So long that others begin before the result is there: with elements that are immediate,
   boxed, and unboxed. *)
let long_results () =
  run_on 3 @@ fun () ->
  let many = 1_000_000 in
  let check what f =
    let a = A.init many f in
    for i = 0 to many - 1 do
      if f i <> a.(i) then failf "%s: wrong at %d" what i
    done
  in
  for _ = 1 to 5 do
    check "ints" succ;
    check "options" (fun i -> if i land 7 = 0 then Some i else None);
    check "floats" float_of_int
  done

(* {2 A search stops} *)

let stops_early domains () =
  run_on domains @@ fun () ->
  let many = 100_000 in
  let input = Array.init many Fun.id in
  let calls search =
    let count = Atomic.make 0 in
    search (fun i ->
        Atomic.incr count;
        i = 10);
    Atomic.get count
  in
  let check what search =
    let calls = calls search in
    let most = if domains = 1 then 11 else many * 3 / 4 in
    if calls > most then failf "%s: %d calls" what calls
  in
  for _ = 1 to 5 do
    check "exists" (fun p -> check_bool "exists" true (A.exists p input));
    check "for_all" (fun p -> check_bool "for_all" false (A.for_all (fun i -> not (p i)) input));
    check "find_opt" (fun p -> check_equal "find_opt" (Some 10) (A.find_opt p input));
    check "find_index" (fun p -> check_equal "find_index" (Some 10) (A.find_index p input))
  done

(* {2 A cancelled task leaves} *)

let cancels () =
  run_on 3 @@ fun () ->
  let many = 20_000 in
  let calls = Atomic.make 0 in
  let call _ =
    Atomic.incr calls;
    burn 50e-6
  in
  let all = A.make many 0 in
  let task = Muster.Task.async (fun () -> A.iter call all) in
  (* A task that was cancelled before it began would make no call. *)
  wait_until (fun () -> Atomic.get calls > 0);
  Muster.Task.cancel task;
  check_raises "await" Muster.Task.Cancelled (fun () -> Muster.Task.await task);
  if Atomic.get calls = many then failf "all calls were made"

(* What is remembered as short and has become long is left as well, and so is what never is shared. *)
let cancels_what_has_become_long () =
  run_on 2 @@ fun () ->
  let long = ref false and calls = ref 0 in
  let called () =
    if !long then (
      incr calls;
      burn 2e-3)
  in
  let cmp x y =
    called ();
    Int.compare x y
  in
  let check name ~most f =
    long := false;
    for _ = 1 to 20 do
      f ()
    done;
    (* What was very short a moment ago is trusted to be so. *)
    Unix.sleepf 1e-3;
    long := true;
    calls := 0;
    check_raises name Muster.Task.Deadline_exceeded (fun () -> Muster.Task.with_deadline 0.02 f);
    if !calls > most then failf "%s: %d calls" name !calls
  in
  let keys = Array.init 60 (fun i -> i * 37 mod 61) in
  let l = Array.to_list keys and f = Stdlib.Float.Array.init 60 float_of_int in
  let sort sort () = ignore (sort cmp (Array.copy keys)) in
  check "sort" ~most:120 (sort A.sort);
  check "sort_uniq" ~most:120 (sort A.sort_uniq);
  check "List.sort" ~most:120 (fun () -> ignore (Muster.Parallel.List.sort cmp l));
  check "List.sort_uniq" ~most:120 (fun () -> ignore (Muster.Parallel.List.sort_uniq cmp l));
  let fcmp x y =
    called ();
    Float.compare x y
  in
  check "Floatarray.sort" ~most:120 (fun () -> F.sort fcmp (F.copy f))

let cancels_short_scans () =
  run_on 2 @@ fun () ->
  let calls = ref 0 in
  let op add x y =
    incr calls;
    burn 1e-3;
    add x y
  in
  let check name f =
    for _ = 1 to 2 do
      calls := 0;
      check_raises name Muster.Task.Deadline_exceeded (fun () -> Muster.Task.with_deadline 0.02 f);
      if !calls > 150 then failf "%s: %d calls" name !calls
    done
  in
  let keys = Array.init 300 Fun.id in
  let after_one = op ( + ) in
  ignore (Muster.Parallel.List.scan after_one [ 1 ]);
  check "List.scan, after a scan of one" (fun () ->
      ignore (Muster.Parallel.List.scan after_one (Array.to_list keys)));
  check "Array.scan" (fun () -> ignore (A.scan (op ( + )) keys));
  check "List.scan" (fun () -> ignore (Muster.Parallel.List.scan (op ( + )) (Array.to_list keys)));
  check "Floatarray.scan" (fun () -> ignore (F.scan (op ( +. )) (F.init 300 float_of_int)))

(* {2 The same bits} *)

let uneven i = float_of_int (i * 7919 land 1023) *. (1.1 ** float_of_int (i land 127))
let sizes = [ 33; 1000; 1025; 10_007; 70_001 ]

let sums domains =
  run_on domains @@ fun () ->
  let of_size n =
    let a = Array.init n uneven in
    let f = Stdlib.Float.Array.init n uneven in
    ( A.fold ( +. ) 0.1 a,
      A.scan ( +. ) a,
      F.fold ( +. ) 0.1 f,
      F.map_to_array Fun.id (F.scan ( +. ) f) )
  in
  List.map of_size sizes

let same_bits () =
  let on_one = sums 1 in
  List.iter
    (fun domains ->
      for _ = 1 to 3 do
        check_equal "sums" on_one (sums domains)
      done)
    [ 2; 3; 8 ]

(* {2 The stdlib's errors} *)

let same_error what ours theirs =
  match outcome theirs with
  | Ok _ -> failf "%s: the stdlib raises nothing" what
  | Error e -> check_raises what e ours

let errors () =
  let a = [| 1; 2; 3 |] and b = [| 1; 2 |] in
  let fa = Stdlib.Float.Array.init 3 float_of_int and fb = Stdlib.Float.Array.init 2 float_of_int in
  let unit _ _ = () and truth _ _ = true in
  let f = ignore in
  same_error "map2" (fun () -> f (A.map2 ( + ) a b)) (fun () -> f (Array.map2 ( + ) a b));
  same_error "iter2" (fun () -> A.iter2 unit a b) (fun () -> Array.iter2 unit a b);
  same_error "exists2" (fun () -> f (A.exists2 truth a b)) (fun () -> f (Array.exists2 truth a b));
  same_error "for_all2"
    (fun () -> f (A.for_all2 truth a b))
    (fun () -> f (Array.for_all2 truth a b));
  same_error "combine" (fun () -> f (A.combine a b)) (fun () -> f (Array.combine a b));
  same_error "init" (fun () -> f (A.init (-1) Fun.id)) (fun () -> f (Array.init (-1) Fun.id));
  same_error "init, many"
    (fun () -> f (A.init max_int Fun.id))
    (fun () -> f (Array.init max_int Fun.id));
  same_error "Floatarray.map2"
    (fun () -> f (F.map2 ( +. ) fa fb))
    (fun () -> f (Stdlib.Float.Array.map2 ( +. ) fa fb));
  same_error "Floatarray.init"
    (fun () -> f (F.init (-1) float_of_int))
    (fun () -> f (Stdlib.Float.Array.init (-1) float_of_int));
  same_error "Bytes.init"
    (fun () -> f (B.init (-1) Char.chr))
    (fun () -> f (Stdlib.Bytes.init (-1) Char.chr));
  same_error "String.init"
    (fun () -> f (S.init (-1) Char.chr))
    (fun () -> f (Stdlib.String.init (-1) Char.chr));
  same_error "String.index" (fun () -> f (S.index "abc" 'd')) (fun () -> f (String.index "abc" 'd'))

(* While the array is made others compute its elements; they have to stop where there is none. *)
let no_memory () =
  for _ = 1 to 200 do
    run_on 3 (fun () ->
        check_raises "init" Out_of_memory (fun () -> A.init Sys.max_array_length Fun.id))
  done

let own_errors () =
  let histogram bins bin () = ignore (A.histogram ~bins (fun _ -> bin) a) in
  let module_ = "Muster.Parallel.Array.histogram" in
  check_invalid ~mentions:[ module_; "bin = 3"; "bins = 3" ] "too large" (histogram 3 3);
  check_invalid ~mentions:[ module_; "bin = -1" ] "negative" (histogram 3 (-1));
  check_invalid ~mentions:[ module_; "bins = -2" ] "bins" (histogram (-2) 0);
  check_invalid ~mentions:[ "Muster.Parallel.Bigarray.Array1.map2"; "differ" ] "Bigarray.map2" (fun () ->
      G.map2 max bigarray (G.sub bigarray 1 2))

let () =
  Alcotest.run "array calls"
    [
      ("shared", shared);
      ("in place", [ case "calls of short arrays run in place, in order" stays ]);
      ("long results", [ case "long results are whole" long_results ]);
      ( "searches",
        [
          case "searches stop early, 1 domain" (stops_early 1);
          case "searches stop early, 3 domains" (stops_early 3);
        ] );
      ( "cancellation",
        [
          case "a call is cancelled between two chunks" cancels;
          case "a sort whose comparisons became long is cancelled" cancels_what_has_become_long;
          case "short scans are cancelled" cancels_short_scans;
        ] );
      ("reductions", [ case "the same bits on any number of domains" same_bits ]);
      ( "errors",
        [
          case "the stdlib's errors" errors;
          case "errors of functions that the stdlib does not have" own_errors;
          case "Out_of_memory for results that are too long" no_memory;
        ] );
    ]
