(* Loops, reductions, scans and searches against the standard library's. *)

open Harness
module Pool = Muster.Pool

exception Boom of int

(* Loops over parts, given what to do with each index. *)

let each f ~start ~finish =
  for i = start to finish do
    f i
  done

let all_of combine f ~start ~finish =
  let acc = ref (f start) in
  for d = 1 to finish - start do
    acc := combine !acc (f (start + d))
  done;
  !acc

let for_range ?grain ~start ~finish f = Muster.parallel_for_range ?grain ~start ~finish (each f)

let for_init ?grain ~start ~finish f =
  Muster.parallel_for_init ?grain ~start ~finish ~init:ignore (fun () i -> f i)

let for2 f n =
  let half = n / 2 in
  Muster.parallel_for2 ~start:(0, 0) ~finish:(1, half - 1) (fun i j -> f ((i * half) + j));
  if n land 1 = 1 then f (n - 1)

let reduce_range ?grain ~start ~finish ~combine ~init f =
  Muster.parallel_reduce_range ?grain ~start ~finish ~combine ~init (all_of combine f)

(* Random ranges against the sequential loop *)

type range = {
  start : int;
  finish : int;
  grain : int option;
  raising : int list;
  wanted : int list;
}

let print_range r =
  let ints l = String.concat " " (List.map string_of_int l) in
  let grain = Option.fold ~none:"default" ~some:string_of_int r.grain in
  Printf.sprintf "%d to %d, grain %s, raising at [%s], wanted [%s]" r.start r.finish grain
    (ints r.raising) (ints r.wanted)

let finish_of start length =
  if length <= 0 && start <= min_int + 3 then start
  else if length > 0 && start > max_int - length then max_int
  else start + length - 1

let range_generator =
  let open QCheck.Gen in
  let near_the_top = map (fun d -> max_int - d) (int_range 0 300) in
  let* start = oneof [ int_range (-1000) 1000; return min_int; near_the_top ] in
  let* length = oneof [ int_range (-3) 3; int_range 0 300 ] in
  let finish = finish_of start length in
  let some_grain = map Option.some (oneof [ int_range 1 100; return max_int ]) in
  let* grain = oneof [ return None; some_grain ] in
  let index = map (fun d -> start + d) (int_range 0 400) in
  let some_indices = list_size (int_range 0 3) index in
  let* raising = oneof [ return []; some_indices ] in
  let+ wanted = oneof [ return []; some_indices ] in
  { start; finish; grain; raising; wanted }

let any_range = QCheck.make ~print:print_range range_generator
let fail_at raising i = if List.mem i raising then raise (Boom i)

(* Wraps around where the range ends at [max_int]: the offset is always small. *)
let length_of r = if r.finish < r.start then 0 else r.finish - r.start + 1

let for_agrees (loop : ?grain:int -> start:int -> finish:int -> (int -> unit) -> unit) _ r =
  let runs = counters (length_of r) in
  let body i =
    Atomic.incr runs.(i - r.start);
    fail_at r.raising i
  in
  let { start; finish; grain; _ } = r in
  let ours = outcome (fun () -> loop ?grain ~start ~finish body) in
  let parallel = Array.map Atomic.get runs in
  Array.iter (fun count -> Atomic.set count 0) runs;
  let theirs =
    outcome (fun () ->
        for i = r.start to r.finish do
          body i
        done)
  in
  let sequential = Array.map Atomic.get runs in
  let is_sound p s = p = s || (s = 0 && p <= 1 && Result.is_error theirs) in
  ours = theirs && Array.for_all2 is_sound parallel sequential

let letter i = String.make 1 (Char.chr (97 + (i land max_int mod 26)))

let reduce_agrees _ r =
  let f i =
    fail_at r.raising i;
    letter i
  in
  let { start; finish; grain; _ } = r in
  let ours () = Muster.parallel_reduce ?grain ~start ~finish ~combine:( ^ ) ~init:"" f in
  let in_parts () = reduce_range ?grain ~start ~finish ~combine:( ^ ) ~init:"" f in
  let theirs () = String.concat "" (List.init (length_of r) (fun d -> f (r.start + d))) in
  outcome ours = outcome theirs && outcome in_parts = outcome theirs

let find_agrees _ r =
  let f i =
    fail_at r.raising i;
    if List.mem i r.wanted then Some i else None
  in
  let { start; finish; grain; _ } = r in
  let ours () = Muster.parallel_find ?grain ~start ~finish f in
  let theirs () = Seq.find_map f (Seq.init (length_of r) (fun d -> start + d)) in
  outcome ours = outcome theirs

let sequential_scan op a =
  let sum = ref None in
  let step x =
    let next = match !sum with None -> x | Some s -> op s x in
    sum := Some next;
    next
  in
  Array.map step a

let array_of ~print generator =
  let open QCheck.Gen in
  let length = oneof [ int_range 0 5; int_range 0 500 ] in
  QCheck.make ~print:(QCheck.Print.array print) (array_size length generator)

let some_strings = array_of ~print:Fun.id QCheck.Gen.(map letter (int_range 0 25))
let scan_agrees _ a = Muster.parallel_scan ( ^ ) a = sequential_scan ( ^ ) a

let scan_leaves_its_argument _ a =
  let before = Array.copy a in
  ignore (Muster.parallel_scan ( ^ ) a);
  a = before

let scan_raises _ (a, bad) =
  let op x y = if y = bad || x = bad then raise (Boom 0) else min x y in
  match Muster.parallel_scan op a with
  | result ->
    let is_unused = Array.length a < 2 || not (Array.mem bad a) in
    is_unused && result = sequential_scan min a
  | exception Boom 0 -> Array.mem bad a

let some_ints = QCheck.(pair (array_of ~print:Print.int Gen.(int_range 0 50)) (int_range 0 50))

(* Long enough for blocks. The exception tells which operands met, as the values say what they are
   the sums of. *)

exception Over of (int * int) * (int * int)

let scans () =
  let of_list scan op a = Array.of_list (scan op (Array.to_list a)) in
  [ Muster.parallel_scan; Muster.Parallel.Array.scan; of_list Muster.Parallel.List.scan ]

let some_steps =
  let open QCheck.Gen in
  let step = map (fun k -> max 0 (k - 190)) (int_range 0 200) in
  let steps = array_size (oneof [ int_range 1_025 1_100; int_range 1_025 5_000 ]) step in
  QCheck.make ~print:QCheck.Print.(pair (array int) int) (pair steps (int_range 1 1_500))

let checked_scan_agrees _ (steps, limit) =
  let add ((_, x) as left) ((i, y) as right) =
    if x + y > limit then raise (Over (left, right));
    (i, x + y)
  in
  let a = Array.mapi (fun i step -> (i, step)) steps in
  let expected = outcome (fun () -> sequential_scan add a) in
  List.for_all (fun scan -> outcome (fun () -> scan add a) = expected) (scans ())

(* 2 x 2 matrices modulo a prime: associative, not commutative *)

let prime = 1_000_003

let product (a, b, c, d) (e, f, g, h) =
  let dot x y z w = ((x * y) + (z * w)) mod prime in
  (dot a e b g, dot a f b h, dot c e d g, dot c f d h)

let one = (1, 0, 0, 1)

let some_matrices =
  let entry = QCheck.Gen.int_range 0 100 in
  let print = QCheck.Print.(quad int int int int) in
  array_of ~print QCheck.Gen.(quad entry entry entry entry)

let matrix_reduce_agrees _ a =
  let finish = Array.length a - 1 in
  Muster.parallel_reduce ~start:0 ~finish ~combine:product ~init:one (Array.get a)
  = Array.fold_left product one a

let matrix_scan_agrees _ a = Muster.parallel_scan product a = sequential_scan product a

let properties domains =
  [
    property ~domains "for" any_range (for_agrees Muster.parallel_for);
    property ~domains "for, in parts" any_range (for_agrees for_range);
    property ~domains "for, with a state" any_range (for_agrees for_init);
    property ~domains "reduce" any_range reduce_agrees;
    property ~domains "find" any_range find_agrees;
    property ~domains "scan" some_strings scan_agrees;
    property ~domains ~count:20 "scan, argument" some_strings scan_leaves_its_argument;
    property ~domains "scan that raises" some_ints scan_raises;
    property ~domains ~count:50 "checked scan" some_steps checked_scan_agrees;
    property ~domains ~count:50 "matrix reduce" some_matrices matrix_reduce_agrees;
    property ~domains ~count:50 "matrix scan" some_matrices matrix_scan_agrees;
  ]

(* The same bits on any number of domains *)

let some_floats n =
  let state = Random.State.make [| n |] in
  Array.init n (fun _ -> Random.State.float state 2e3 -. 1e3)

let on_each_count f = List.map (fun domains -> run_on domains f) [ 1; 2; 3; 8 ]

let all_same name = function
  | [] -> ()
  | first :: others -> List.iter (check_equal name first) others

let sum_bits ?grain n f =
  let finish = n - 1 in
  let sum = Muster.parallel_reduce ?grain ~start:0 ~finish ~combine:( +. ) ~init:0. f in
  Int64.bits_of_float sum

let float_reduce_is_deterministic () =
  let check (n, grain) =
    let a = some_floats n in
    let sum () = sum_bits ?grain n (Array.get a) in
    let five_sums () = List.init 5 (fun _ -> sum ()) in
    let name = Printf.sprintf "%d floats" n in
    all_same name (sum () :: List.concat (on_each_count five_sums))
  in
  List.iter check [ (1, None); (7, None); (1000, None); (50_000, None) ];
  List.iter check [ (1000, Some 1); (1000, Some 13); (1000, Some max_int) ]

(* Also what a loop's parts are: it may sum by itself. *)
let parts_are_deterministic () =
  let check (n, grain) =
    let a = some_floats n and finish = n - 1 in
    let sum () =
      let part = all_of ( +. ) (Array.get a) in
      Int64.bits_of_float
        (Muster.parallel_reduce_range ?grain ~start:0 ~finish ~combine:( +. ) ~init:0. part)
    in
    let parts () =
      let seen = Atomic.make [] in
      let rec see ~start ~finish =
        let old = Atomic.get seen in
        if not (Atomic.compare_and_set seen old ((start, finish) :: old)) then see ~start ~finish
      in
      Muster.parallel_for_range ?grain ~start:0 ~finish see;
      List.sort compare (Atomic.get seen)
    in
    let five f () = List.init 5 (fun _ -> f ()) in
    let name = Printf.sprintf "%d floats" n in
    all_same name (sum () :: List.concat (on_each_count (five sum)));
    all_same (name ^ ", parts") (parts () :: List.concat (on_each_count (five parts)))
  in
  List.iter check [ (1, None); (7, None); (1000, None); (50_000, None); (300_000, None) ];
  List.iter check [ (1000, Some 1); (1000, Some 13); (1000, Some max_int) ]

let float_scan_is_deterministic () =
  let check n =
    let a = some_floats n in
    let scan () = Array.map Int64.bits_of_float (Muster.parallel_scan ( +. ) a) in
    all_same (Printf.sprintf "%d floats" n) (scan () :: on_each_count scan)
  in
  List.iter check [ 0; 1; 2; 7; 1000; 50_000 ]

(* Uneven work changes who steals what, not the answer. *)
let uneven_float_reduce () =
  let a = some_floats 200 in
  let slow i =
    if i mod 50 = 0 then Unix.sleepf 0.002;
    a.(i)
  in
  let bits f () = sum_bits ~grain:1 200 f in
  all_same "uneven" (bits (Array.get a) () :: on_each_count (bits slow))

(* Which of the operation's exceptions goes on where no prefix raises: the last block but one alone
   is too much, and an exception that came from elsewhere must not be lost. *)
let scan_keeps_exceptions () =
  let n = 6_400 in
  let a = Array.init n (fun i -> if i = 0 then -1_000 else Bool.to_int (i / 100 = 62)) in
  let add x y = if x + y > 50 then raise (Boom (x + y)) else x + y in
  let check scan =
    check_raises "of a block alone" (Boom 51) (fun () -> scan add a);
    let calls = Atomic.make 0 in
    let once x y = if Atomic.fetch_and_add calls 1 = 3_000 then raise Exit else x + y in
    check_raises "of one call" Exit (fun () -> scan once a)
  in
  List.iter check (scans ())

(* The ends of the integers *)

let each_of_range name start finish expected =
  let seen = Atomic.make [] in
  let rec see i =
    let old = Atomic.get seen in
    if not (Atomic.compare_and_set seen old (i :: old)) then see i
  in
  Muster.parallel_for ~start ~finish see;
  check_equal name expected (List.sort compare (Atomic.get seen));
  let one i = [ i ] in
  let collected = Muster.parallel_reduce ~start ~finish ~combine:( @ ) ~init:[] one in
  check_equal (name ^ ", reduce") expected collected;
  Atomic.set seen [];
  for_range ~start ~finish see;
  check_equal (name ^ ", in parts") expected (List.sort compare (Atomic.get seen));
  Atomic.set seen [];
  for_init ~start ~finish see;
  check_equal (name ^ ", with a state") expected (List.sort compare (Atomic.get seen));
  let collected = reduce_range ~start ~finish ~combine:( @ ) ~init:[] one in
  check_equal (name ^ ", reduce in parts") expected collected;
  let is_last i = if i = finish then Some i else None in
  let last = Muster.parallel_find ~start ~finish is_last in
  check_equal (name ^ ", find") (if expected = [] then None else Some finish) last

let ends_of_the_integers () =
  let four start = List.init 4 (fun d -> start + d) in
  each_of_range "top" (max_int - 3) max_int (four (max_int - 3));
  each_of_range "bottom" min_int (min_int + 3) (four min_int);
  each_of_range "last" max_int max_int [ max_int ];
  each_of_range "first" min_int min_int [ min_int ];
  each_of_range "empty" 0 (-1) [];
  each_of_range "reversed" 5 1 [];
  each_of_range "reversed at the ends" max_int min_int [];
  each_of_range "reversed by one at the top" max_int (max_int - 1) [];
  each_of_range "reversed by one at the bottom" (min_int + 1) min_int []

(* No such loop could be run to its end: it must stop where the first index says so. *)
let every_integer () =
  let start = min_int and finish = max_int in
  let wanted = min_int + 500 in
  let fail i = if i < min_int + 3 then raise (Boom i) in
  let fail_through i =
    fail i;
    i
  in
  let find i = if i >= wanted then Some i else None in
  let check grain =
    let raises name f = check_raises name (Boom min_int) f in
    raises "for" (fun () -> Muster.parallel_for ?grain ~start ~finish fail);
    raises "reduce" (fun () ->
        Muster.parallel_reduce ?grain ~start ~finish ~combine:( + ) ~init:0 fail_through);
    check_equal "find" (Some wanted) (Muster.parallel_find ?grain ~start ~finish find);
    (* Of the others none ends. *)
    let part ~start ~finish:_ = fail start in
    raises "for, in parts" (fun () -> Muster.parallel_for_range ?grain ~start ~finish part)
  in
  List.iter check [ None; Some 1; Some 1000 ]

(* The leaves of a reduction begin with the first index, follow each other and end with the last. *)
let leaves_cover_the_range () =
  let cover cut ?grain start finish =
    let per_leaf, last = cut ?grain start finish in
    let name = Printf.sprintf "%d to %d" start finish in
    check_bool (name ^ ", leaves") true (per_leaf > 0 && last >= 0);
    let last_begins = start + (last * per_leaf) in
    let rest = finish - last_begins in
    check_bool (name ^ ", the last") true (rest >= 0 && rest < per_leaf);
    (* The same to the precision of floats, which do not wrap around. *)
    let width = float_of_int finish -. float_of_int start in
    let rest = width -. (float_of_int last *. float_of_int per_leaf) in
    check_bool (name ^ ", each once") true (Float.abs rest <= float_of_int per_leaf +. 4_096.)
  in
  let check ?grain start finish =
    cover (fun ?grain -> Muster_loop.Reduce.cut ?grain) ?grain start finish;
    cover (fun ?grain -> Muster_loop.Parts.cut ?grain) ?grain start finish
  in
  List.iter
    (fun (start, finish) ->
      check start finish;
      check ~grain:1_000 start finish)
    [
      (0, 0);
      (0, 511);
      (0, 512);
      (-5, 100_000);
      (0, max_int);
      (min_int, -1);
      (min_int, 0);
      (-1, max_int);
      (min_int, max_int - 1);
      (min_int, max_int);
    ]

(* As the interface says: a part for each of a few, which may be dear; then longer parts, then more. *)
let usual_parts () =
  let check n (length, parts) =
    let per_part, last = Muster_loop.Parts.cut 1 n in
    check_equal (Printf.sprintf "parts of %d" n) (length, parts) (per_part, last + 1)
  in
  check 1 (1, 1);
  check 32 (1, 32);
  check 33 (2, 17);
  check 4_096 (128, 32);
  check 65_536 (128, 512);
  check 1_000_000 (1_954, 512)

(* No sweep reaches the right half, but another worker begins with it. *)
let right_half_is_begun () =
  let begun = Atomic.make false in
  let sum () =
    Muster.parallel_reduce ~start:min_int ~finish:max_int ~combine:( + ) ~init:0 (fun i ->
        if i >= 0 then Atomic.set begun true;
        if Atomic.get begun then raise Exit;
        i)
  in
  check_raises "reduce" Exit (fun () -> run_on 2 sum)

let bad_grain () =
  let check grain =
    let refuses name f = check_invalid ~mentions:[ name; string_of_int grain ] name f in
    let start = 0 and finish = 9 in
    refuses "parallel_for" (fun () -> Muster.parallel_for ~grain ~start ~finish ignore);
    refuses "parallel_reduce" (fun () ->
        Muster.parallel_reduce ~grain ~start ~finish ~combine:( + ) ~init:0 Fun.id);
    refuses "parallel_find" (fun () -> Muster.parallel_find ~grain ~start ~finish (fun _ -> None));
    refuses "parallel_for" (fun () -> Muster.parallel_for ~grain ~start:1 ~finish:0 ignore);
    refuses "parallel_for_range" (fun () -> for_range ~grain ~start ~finish ignore);
    refuses "parallel_for_init" (fun () -> for_init ~grain ~start ~finish ignore);
    refuses "parallel_for2" (fun () ->
        Muster.parallel_for2 ~grain ~start:(0, 0) ~finish:(-1, 9) (fun _ _ -> ()));
    refuses "parallel_reduce_range" (fun () ->
        reduce_range ~grain ~start:1 ~finish:0 ~combine:( + ) ~init:0 Fun.id)
  in
  List.iter check [ 0; -1; min_int ]

(* However large the grain, what lies far right of an exception is not called. *)
let large_grain_stops () =
  let calls = Atomic.make 0 in
  let body i =
    Atomic.incr calls;
    if i = 10 then raise Exit
  in
  check_raises "for" Exit (fun () ->
      Muster.parallel_for ~grain:max_int ~start:0 ~finish:1_000_000 body);
  check_bool "few calls" true (Atomic.get calls < 100_000)

(* A loop no longer than its grain is never split. *)
let grain_beyond_the_range () =
  let here = Domain.self () in
  let check grain =
    let long = ref false in
    let body _ =
      if Domain.self () <> here then failf "grain %d: run elsewhere" grain;
      if !long then burn 0.000_2
    in
    let loop () = Muster.parallel_for ~grain ~start:1 ~finish:100 body in
    with_domains 3 (fun pool ->
        Pool.run pool (fun () ->
            loop ();
            loop ();
            (* Remembered as short. *)
            long := true;
            loop ();
            loop ()))
  in
  List.iter check [ 100; max_int / 2; (max_int / 2) + 1; max_int ]

let on_some_counts f () = List.iter (fun domains -> run_on domains f) [ 1; 2; 3 ]

(* What is remembered as short is tried on its first iterations, whatever that memory says. *)
let loops_of ?(pool = Pool.default ()) n =
  let start = 0 and finish = n - 1 in
  let array = Array.init n Fun.id and list = List.init n Fun.id in
  let with_value f i =
    f i;
    i
  in
  let nothing f i =
    f i;
    None
  in
  let dynamic f = Muster.Team.for_n_dynamic pool n (fun ~worker:_ i -> f i) in
  let open Muster in
  let open Parallel in
  [
    ("for", fun f -> parallel_for ~start ~finish f);
    ("reduce", fun f -> parallel_reduce ~start ~finish ~combine:(fun () () -> ()) ~init:() f);
    ("find", fun f -> ignore (parallel_find ~start ~finish (nothing f)));
    ("for, in parts", fun f -> for_range ~start ~finish f);
    ("for, with a state", fun f -> for_init ~start ~finish f);
    ("for, of pairs", fun f -> for2 f n);
    ("Array.iter", fun f -> Array.iter f array);
    ("Array.map", fun f -> ignore (Array.map (with_value f) array));
    ("Array.find_map", fun f -> ignore (Array.find_map (nothing f) array));
    ("List.iter", fun f -> List.iter f list);
    ("List.map", fun f -> ignore (List.map (with_value f) list));
    ("List.find_map", fun f -> ignore (List.find_map (nothing f) list));
    ("Seq.iter", fun f -> Seq.iter f (Stdlib.List.to_seq list));
    ("for_n_dynamic", dynamic);
  ]

let few_that_have_become_long () =
  let iterations = 16 in
  with_domains 2 @@ fun pool ->
  let check (what, loop) =
    shares_what_has_become_long what ~alone:1 ~iterations loop;
    shares_what_has_become_long (what ^ ", first one cheap") ~cheap:1 ~alone:3 ~iterations loop
  in
  Pool.run pool (fun () -> List.iter check (loops_of ~pool iterations))

let long_second_half () =
  with_domains 2 @@ fun pool ->
  let check (what, loop) = shares_a_long_second_half what loop in
  Pool.run pool (fun () -> List.iter check (loops_of ~pool 100))

(* None is kept behind another, and none is left to a worker that sleeps. Where the numbers flip there are not so many
   workers. *)
let all_begin_at_once () =
  let workers = 8 in
  let check what loop =
    with_domains workers (fun pool ->
        begin_at_once what ~workers (fun f -> Pool.run pool (fun () -> loop f)))
  in
  let start = 1 and finish = workers in
  let indices = List.init workers Fun.id in
  let nothing f i =
    f i;
    None
  in
  if not flipped then begin
    check "for" (fun f -> Muster.parallel_for ~start ~finish f);
    check "reduce" (fun f ->
        Muster.parallel_reduce ~start ~finish ~combine:(fun () () -> ()) ~init:() f);
    check "find" (fun f -> ignore (Muster.parallel_find ~start ~finish (nothing f)));
    check "for, in parts" (for_range ~start ~finish);
    check "for, with a state" (for_init ~start ~finish);
    check "for, of pairs" (fun f -> for2 f workers);
    check "Array.iter" (fun f -> Muster.Parallel.Array.iter f (Array.of_list indices));
    check "List.iter" (fun f -> Muster.Parallel.List.iter f indices);
    check "Task.all" (fun f -> ignore (Muster.Task.all (List.map (fun i () -> f i) indices)))
  end

(* The first call of a loop, whose cost nobody knows, when all other workers sleep. Each body is a function of its
   own: costs are remembered for its code. *)
let first_call_wakes () =
  if not flipped then
  with_domains 2 @@ fun pool ->
  let begun = Atomic.make 0 in
  let rec wait until =
    if Atomic.get begun < 2 then
      if Unix.gettimeofday () > until then failwith "the other one has not begun"
      else begin
        Unix.sleepf 0.000_2;
        wait until
      end
  in
  let meet () =
    Atomic.incr begun;
    wait (Unix.gettimeofday () +. 5.)
  in
  let check what loop =
    Pool.run pool (fun () -> ignore (Muster.both (fun () -> fib 15) (fun () -> fib 15)));
    Unix.sleepf 0.02;
    Atomic.set begun 0;
    Pool.run pool loop;
    check_int what 2 (Atomic.get begun)
  in
  let open Muster.Parallel in
  let start = 0 and finish = 1 and combine () () = () in
  check "for" (fun () -> Muster.parallel_for ~start ~finish (fun _ -> meet ()));
  check "reduce" (fun () ->
      Muster.parallel_reduce ~start ~finish ~combine ~init:() (fun _ -> meet ()));
  check "find" (fun () ->
      let none _ =
        meet ();
        None
      in
      ignore (Muster.parallel_find ~start ~finish none));
  check "for, in parts" (fun () ->
      Muster.parallel_for_range ~start ~finish (fun ~start:_ ~finish:_ -> meet ()));
  check "Array.iter" (fun () -> Array.iter (fun _ -> meet ()) [| 0; 1 |]);
  check "Array.map" (fun () -> ignore (Array.map (fun _ -> meet ()) [| 0; 1 |]));
  check "Array.init" (fun () -> ignore (Array.init 2 (fun _ -> meet ())));
  check "List.iter" (fun () -> List.iter (fun _ -> meet ()) [ 0; 1 ]);
  check "List.map" (fun () -> ignore (List.map (fun _ -> meet ()) [ 0; 1 ]));
  check "Seq.iter" (fun () -> Seq.iter (fun _ -> meet ()) (Stdlib.List.to_seq [ 0; 1 ]));
  (* The entry of a task lies below: of one that runs in place, or that nobody has begun. *)
  let in_a_task f () = Muster.Task.(await (async f)) in
  let beside_a_task f () =
    let t = Muster.Task.async ignore in
    f ();
    Muster.Task.await t
  in
  check "for, in a task"
    (in_a_task (fun () -> Muster.parallel_for ~start ~finish (fun _ -> meet ())));
  check "reduce, in a task"
    (in_a_task (fun () ->
         Muster.parallel_reduce ~start ~finish ~combine ~init:() (fun _ -> meet ())));
  check "Array.map, in a task"
    (in_a_task (fun () -> ignore (Array.map (fun _ -> meet ()) [| 0; 1 |])));
  check "List.map, in a task"
    (in_a_task (fun () -> ignore (List.map (fun _ -> meet ()) [ 0; 1 ])));
  check "for, beside a task"
    (beside_a_task (fun () -> Muster.parallel_for ~start ~finish (fun _ -> meet ())));
  check "List.map, beside a task"
    (beside_a_task (fun () -> ignore (List.map (fun _ -> meet ()) [ 0; 1 ])))

(* A loop in an iteration of another keeps its own to itself while the other's are to be had, but no
   longer: no worker runs all of its iterations alone. *)
let inner_loops_are_shared () =
  let check_shared what inner =
    let ran = Array.make 16 0 in
    inner (fun i ->
        Unix.sleepf 0.005;
        ran.(i) <- (Domain.self () :> int));
    let domains = List.sort_uniq Int.compare (Array.to_list ran) in
    check_bool (what ^ " by several") true (List.length domains > 1)
  in
  let check pool (what, inner) =
    Pool.run pool (fun () -> Muster.parallel_for ~start:1 ~finish:4 (fun _ -> check_shared what inner))
  in
  let no_region (what, _) = what <> "for_n_dynamic" in
  if not flipped then
    with_domains 8 @@ fun pool ->
    for _ = 1 to 3 do
      List.iter (check pool) (List.filter no_region (loops_of 16))
    done

(* Loops at every node of a recursion: the queens of a small board, by each kind of loop. *)
let queens_agree () =
  let n = 7 in
  let safe row c queens = List.for_all (fun (r, q) -> q <> c && abs (q - c) <> row - r) queens in
  let rec place count row queens =
    if row = n then 1
    else
      count (fun c ->
          if safe row c queens then place count (row + 1) ((row, c) :: queens) else 0)
  in
  let columns = List.init n Fun.id in
  let total = List.fold_left ( + ) 0 in
  let finish = n - 1 in
  let by_loop (_, loop) f =
    let sum = Atomic.make 0 in
    loop (fun c -> ignore (Atomic.fetch_and_add sum (f c)));
    Atomic.get sum
  in
  let counts =
    (fun f -> Muster.parallel_reduce ~start:0 ~finish ~combine:( + ) ~init:0 f)
    :: (fun f -> total (Muster.Parallel.List.map f columns))
    :: List.map by_loop (loops_of n)
  in
  let check count =
    for _ = 1 to 5 do
      check_int "queens" 40 (place count 0 [])
    done
  in
  List.iter check counts

(* Short loops of a worker that nobody could help look at its first word, not at the clock; also
   after the collector has called it up. *)
let alone_and_quiet () =
  run_on 1 @@ fun () ->
  let quiet = ref 0 in
  let look _ = if Muster_core.Place.is_quiet () then incr quiet in
  for i = 1 to 1_000 do
    if i mod 100 = 0 then Muster_core.(Option.iter Publish.call_up (Place.owned_place ()));
    Muster.parallel_for ~start:1 ~finish:4 look
  done;
  check_bool (Printf.sprintf "%d of 4,000 iterations" !quiet) true (!quiet > 3_000)

(* An iteration that waits for a lock is as long as one that computes. *)
let one_long_of_many () =
  with_domains 2 @@ fun pool ->
  let work ~long i =
    for _ = 1 to 20 do
      ignore (Sys.opaque_identity (ref i))
    done;
    if i = long then Unix.sleepf 0.02
  in
  let forks long =
    let before = (Pool.stats pool).forks in
    Pool.run pool (fun () -> Muster.parallel_for ~start:1 ~finish:50_000 (work ~long));
    (Pool.stats pool).forks - before
  in
  ignore (forks 0);
  let forks = forks 1_000 in
  check_bool (Printf.sprintf "%d forks" forks) true (forks < 5_000)

(* A grain says which parts are not cut; a deadline is heard inside of one. *)
let deadline_within_a_grain () =
  let start = 1 and finish = 10_000 in
  let check what loop =
    let calls = Atomic.make 0 in
    let body _ =
      Atomic.incr calls;
      Unix.sleepf 0.000_5
    in
    check_raises what Muster.Task.Deadline_exceeded (fun () ->
        Muster.Task.with_deadline 0.02 (fun () -> loop body));
    check_bool (what ^ " ends early") true (Atomic.get calls < 5_000)
  in
  let grains grain =
    check "for" (fun f -> Muster.parallel_for ~grain ~start ~finish f);
    check "reduce" (fun f ->
        Muster.parallel_reduce ~grain ~start ~finish ~combine:(fun () () -> ()) ~init:() f);
    check "find" (fun f ->
        ignore
          (Muster.parallel_find ~grain ~start ~finish (fun i ->
               f i;
               None)))
  in
  List.iter grains [ finish; max_int ];
  check "for_n" (fun f ->
      Muster.Team.for_n (Pool.default ()) finish (fun ~worker:_ i -> f i));
  check "scan" (fun f ->
      ignore (Muster.parallel_scan (fun () i -> f i) (Array.make finish ())))

let () =
  Alcotest.run "loops"
    [
      ("like the standard library", List.concat_map properties [ 1; 2; 3; 4; 5; 6; 7; 8 ]);
      ( "same bits on 1, 2, 3 and 8 domains",
        [
          case "a reduction of floats" float_reduce_is_deterministic;
          case "parts of a range" parts_are_deterministic;
          case "a scan of floats" float_scan_is_deterministic;
          case "a reduction of floats with uneven costs" uneven_float_reduce;
        ] );
      ( "limits",
        [
          case "a scan loses no exception" (on_some_counts scan_keeps_exceptions);
          case "loops reach min_int and max_int" (on_some_counts ends_of_the_integers);
          case "loops reach min_int and max_int, outside a pool" ends_of_the_integers;
          case "a loop over all integers ends at an exception" (on_some_counts every_integer);
          case "the leaves of a reduction cover the range" leaves_cover_the_range;
          case "the parts of a range that are usual" usual_parts;
          case ~seconds:20 "the right half of a reduction over all integers begins"
            right_half_is_begun;
          case ~seconds:20 "a few iterations that became long are shared" few_that_have_become_long;
          case ~seconds:20 "a second half that became long is shared" long_second_half;
          case ~seconds:20 "dear iterations begin at once" all_begin_at_once;
          case "the first call of a loop wakes a worker" first_call_wakes;
          case ~seconds:60 "loops in iterations of a loop are shared" inner_loops_are_shared;
          case "one long iteration makes no forks of the others" one_long_of_many;
          case "loops in a recursion" (on_some_counts queens_agree);
          case "a worker alone in its pool is quiet in short loops" alone_and_quiet;
          case "a deadline is heard within a grain" (on_some_counts deadline_within_a_grain);
          case "a grain below 1 is refused" bad_grain;
          case "a large grain stops at an exception" large_grain_stops;
          case "a loop no longer than its grain stays with its caller" grain_beyond_the_range;
        ] );
    ]
