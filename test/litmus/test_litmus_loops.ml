(* Collections, C kernels and Domainslib's interface: what was done before an operation is seen by
   the functions that it calls, and what these did is seen after it. *)

module Pool = Muster.Pool
open Rounds
module A1 = Muster.Parallel.Bigarray.Array1

(* As few as are shared now and then, since the rounds are to be many. *)
let n = 32
let given = ref 0
let cells = Array.make n 0
let all_are round = Array.for_all (fun cell -> cell = round) cells
let indices = Array.init n Fun.id
let floats = Float.Array.init n Float.of_int
let bytes = Bytes.init n Char.chr
let bigs = A1.init Bigarray.int Bigarray.c_layout n Fun.id
let list = List.init n Fun.id

(* What the functions do. It takes long enough to be shared. *)
let touch i =
  pauses 40;
  cells.(i) <- !given

let touched i =
  touch i;
  i

let of_char c = touch (Char.code c)

(* [operation] calls [touch] for each index. *)
let operation call =
  in_task 2 750 (fun round ->
      given := round;
      call ();
      check "called, so given; returned, so done" (all_are round))

(* Blocks that the operation's functions made elsewhere are read here. *)
let makes call =
  in_task 2 750 (fun round ->
      given := round;
      let block i =
        touch i;
        ref (round + i)
      in
      check "returned, so made" (call block = n * ((2 * round) + n - 1) / 2 && all_are round))

let sum = Array.fold_left (fun sum block -> sum + !block) 0
let sum_list = List.fold_left (fun sum block -> sum + !block) 0

(* Operands are blocks as well, and were made before they are combined. *)
let add a b = ref (!a + !b)
let array_map block = sum (Muster.Parallel.Array.map block indices)
let array_init block = sum (Muster.Parallel.Array.init n block)
let array_filter block = sum (Muster.Parallel.Array.filter_map (fun i -> Some (block i)) indices)
let array_concat block = sum (Muster.Parallel.Array.concat_map (fun i -> [| block i |]) indices)
let array_fold block = !(Muster.Parallel.Array.fold add (ref 0) (Muster.Parallel.Array.map block indices))

let array_groups block =
  let groups =
    Muster.Parallel.Array.group_by
      (fun i ->
        touch i;
        i land 3)
      indices
  in
  Array.fold_left (fun n (_, group) -> n + sum (Array.map block group)) 0 groups

let list_map block = sum_list (Muster.Parallel.List.map block list)
let list_filter block = sum_list (Muster.Parallel.List.filter_map (fun i -> Some (block i)) list)
let list_fold block = !(Muster.Parallel.List.fold add (ref 0) (Muster.Parallel.List.map block list))

(* What happened when an element was forced is seen by its call. *)
let seq_iter () =
  let forced = Array.make n 0 in
  let element i =
    forced.(i) <- !given;
    i
  in
  let seq = Seq.map element (Seq.init n Fun.id) in
  Muster.Parallel.Seq.iter
    (fun i ->
      check "forced before" (forced.(i) = !given);
      touch i)
    seq

let seq_count () =
  ignore
    (Muster.Parallel.Seq.count
       (fun i ->
         touch i;
         true)
       (List.to_seq list))

(* A comparison sees what the caller did, and its result is sorted plainly. *)
let sort =
  let keys = Array.init 500 (fun i -> ref i) in
  in_task 2 100 (fun round ->
      Array.iteri (fun i key -> key := i * (1 + (2 * round)) mod 499) keys;
      let by_key a b = Int.compare !a !b in
      let a = Array.copy keys in
      Muster.Parallel.Array.sort by_key a;
      let in_order = ref true in
      for i = 1 to 499 do
        in_order := !in_order && by_key a.(i - 1) a.(i) <= 0
      done;
      check "sorted" !in_order)

let search =
  in_task 2 750 (fun round ->
      given := round;
      let found =
        Muster.Parallel.Array.find_map (fun i ->
            touch i;
            if i = n - 1 then Some (ref round) else None)
      in
      check "found, so made" (!(Option.get (found indices)) = round && all_are round))

(* {2 Loops over parts} *)

let each f ~start ~finish =
  for i = start to finish do
    f i
  done

let for_range () = Muster.parallel_for_range ~grain:1 ~start:0 ~finish:(n - 1) (each touch)

(* Operands are blocks that a part has made. *)
let reduce_range block =
  let part ~start ~finish =
    let sum = ref 0 in
    for i = start to finish do
      sum := !sum + !(block i)
    done;
    ref !sum
  in
  let finish = n - 1 and init = ref 0 in
  !(Muster.parallel_reduce_range ~grain:2 ~start:0 ~finish ~combine:add ~init part)

exception Failed of int ref

let raises =
  in_task 2 750 (fun round ->
      given := round;
      let f i =
        touch i;
        if i = n - 1 then raise (Failed (ref round))
      in
      match Muster.Parallel.Array.iter f indices with
      | () -> check "raises" false
      | exception Failed content -> check "raised, so done" (!content = round && all_are round))

(* {2 Loops with results} *)

(* Of fewer elements there is one block, and nothing to share. *)
let prefixes scan =
  let last = 1_099 in
  let numbers = Array.init (last + 1) (fun i -> ref i) in
  in_task 2 100 (fun round ->
      given := round;
      let op a b =
        check "called, so given" (!given = round);
        ref (!a + !b)
      in
      check "returned, so done" (!((scan op numbers).(last)) = last * (last + 1) / 2))

let find =
  in_task 2 500 (fun round ->
      given := round;
      let f i =
        touch i;
        if i = n - 1 then Some (ref round) else None
      in
      match Muster.parallel_find ~grain:1 ~start:0 ~finish:(n - 1) f with
      | Some found -> check "found, so done" (!found = round && all_are round)
      | None -> check "found" false)

(* What ran has ended, the call that raises and those beside it. [run] is given what to call for each
   index. *)
let ends_raising run =
  let begun = Array.make n (-1) in
  fun round ->
    given := round;
    let body i =
      begun.(i) <- !given;
      touch i;
      if i land 7 = 5 then raise (Failed (ref round))
    in
    match run body with
    | _ -> check "raises" false
    | exception Failed content ->
      check "raised, so done" (!content = round && Array.mem round cells);
      for i = 0 to n - 1 do
        check "begun, so ended" (begun.(i) <> round || cells.(i) = round)
      done

let loop_raises run = in_task 2 750 (ends_raising run)
let for_raises body = Muster.parallel_for ~grain:1 ~start:0 ~finish:(n - 1) body

let range_raises body =
  Muster.parallel_for_range ~grain:1 ~start:0 ~finish:(n - 1) (each body)

let reduce_raises body =
  Muster.parallel_reduce ~grain:1 ~start:0 ~finish:(n - 1) ~combine:(fun () () -> ()) ~init:() body

let find_raises body =
  Muster.parallel_find ~grain:1 ~start:0 ~finish:(n - 1) (fun i ->
      body i;
      None)

let scan_raises =
  let last = 1_099 in
  let numbers = Array.init (last + 1) Fun.id and begun = ref 0 in
  in_task 2 100 (fun round ->
      given := round;
      let op a b =
        if b = last then begin
          begun := !given;
          raise (Failed (ref round))
        end;
        a + b
      in
      match Muster.parallel_scan op numbers with
      | _ -> check "raises" false
      | exception Failed content -> check "raised, so done" (!content = round && !begun = round))

(* {2 States}

   A state is written plainly by one call after another, and read after the loop. *)

let states =
  let made = Atomic.make [] in
  let rec init () =
    let state = ref 0 and old = Atomic.get made in
    if Atomic.compare_and_set made old (state :: old) then state else init ()
  in
  in_task 2 750 (fun round ->
      given := round;
      Atomic.set made [];
      Muster.parallel_for_init ~grain:1 ~start:0 ~finish:(n - 1) ~init (fun state i ->
          touch i;
          incr state);
      let calls = List.fold_left (fun sum state -> sum + !state) 0 (Atomic.get made) in
      check "returned, so done" (calls = n && all_are round))

(* {2 C kernels} *)

let kernel loop ~long times =
  let cells = C_loops.cells n in
  in_task 2 times (fun round ->
      for i = 0 to n - 1 do
        cells.{i} <- cells.{i} + 1
      done;
      check "workers" (loop cells ~long >= 1);
      for i = 0 to n - 1 do
        check "returned, so done" (cells.{i} = 2 * (round + 1))
      done)

(* {2 Domainslib's interface} *)

module D = Domainslib

let ported f () =
  let pool = D.Task.setup_pool ~num_domains:1 () in
  f pool;
  D.Task.teardown_pool pool

let ported_await pool =
  repeat 2_000 (fun round ->
      given := round;
      let task =
        D.Task.async pool (fun () ->
            touch (round mod n);
            ref round)
      in
      loiter round;
      check "awaited, so done" (!(D.Task.await pool task) = round && cells.(round mod n) = round))

let ported_loop pool =
  repeat 750 (fun round ->
      given := round;
      D.Task.parallel_for ~start:0 ~finish:(n - 1) ~body:touch pool;
      check "returned, so done" (all_are round);
      given := -round;
      let sum = D.Task.parallel_for_reduce ~start:0 ~finish:(n - 1) ~body:touched pool ( + ) 0 in
      check "returned, so done" (all_are (-round) && sum = n * (n - 1) / 2))

let ported_await_raises pool =
  repeat 2_000 (fun round ->
      given := round;
      let at = round mod n in
      let task =
        D.Task.async pool (fun () ->
            touch at;
            raise (Failed (ref round)))
      in
      loiter round;
      match D.Task.await pool task with
      | () -> check "raises" false
      | exception Failed content -> check "raised, so done" (!content = round && cells.(at) = round))

let ported_loop_raises pool =
  let run body = D.Task.parallel_for ~chunk_size:1 ~start:0 ~finish:(n - 1) ~body pool in
  repeat 750 (ends_raising run)

let ported_lookup () =
  let name = "litmus" and told = Atomic.make false in
  let make round =
    given := round;
    let pool = D.Task.setup_pool ~name ~num_domains:0 () in
    relax_until (fun () -> Atomic.get told);
    D.Task.teardown_pool pool
  in
  let find round =
    relax_until (fun () -> D.Task.lookup_pool name <> None);
    let seen = !given in
    Atomic.set told true;
    check "found, so written" (seen = round)
  in
  race 200 ~before:(fun _ -> Atomic.set told false) [ make; find ]

let ported_teardown () =
  repeat 50 (fun round ->
      given := round;
      let pool = D.Task.setup_pool ~num_domains:1 () in
      for i = 0 to 3 do
        ignore (D.Task.async pool (fun () -> touch i))
      done;
      D.Task.teardown_pool pool;
      for i = 0 to 3 do
        check "torn down, so done" (cells.(i) = round)
      done)

let ported_chan _ =
  let chan = D.Chan.make_bounded 1 in
  let send round =
    given := round;
    D.Chan.send chan ()
  in
  let receive round =
    D.Chan.recv chan;
    check "received, so written" (!given = round)
  in
  race 5_000 [ send; receive ]

let () =
  insist_on 3;
  main
    [
      case "array: iter" (operation (fun () -> Muster.Parallel.Array.iter touch indices));
      case "array: map_inplace" (operation (fun () -> Muster.Parallel.Array.map_inplace touched indices));
      case "array: map" (makes array_map);
      case "array: init" (makes array_init);
      case "array: filter_map" (makes array_filter);
      case "array: concat_map" (makes array_concat);
      case "array: fold" (makes array_fold);
      case "array: scan" (prefixes Muster.Parallel.Array.scan);
      case "array: group_by" (makes array_groups);
      case "array: sort" sort;
      case "array: find_map" search;
      case "array: raises" raises;
      case "floatarray: iter"
        (operation (fun () -> Muster.Parallel.Floatarray.iter (fun x -> touch (Float.to_int x)) floats));
      case "bytes: iter" (operation (fun () -> Muster.Parallel.Bytes.iter of_char bytes));
      case "string: iter" (operation (fun () -> Muster.Parallel.String.iter of_char (Bytes.to_string bytes)));
      case "bigarray: iter" (operation (fun () -> A1.iter touch bigs));
      case "list: iter" (operation (fun () -> Muster.Parallel.List.iter touch list));
      case "list: map" (makes list_map);
      case "list: filter_map" (makes list_filter);
      case "list: fold" (makes list_fold);
      case "seq: iter" (operation seq_iter);
      case "seq: count" (operation seq_count);
      case "loop: for, in parts" (operation for_range);
      case "loop: for, in parts, raises" (loop_raises range_raises);
      case "loop: reduce, in parts" (makes reduce_range);
      case "loop: for, with states" states;
      case "loop: scan" (prefixes Muster.parallel_scan);
      case "loop: find" find;
      case "loop: for, raises" (loop_raises for_raises);
      case "loop: reduce, raises" (loop_raises reduce_raises);
      case "loop: scan, raises" scan_raises;
      case "loop: find, raises" (loop_raises find_raises);
      case "kernel: slices" (kernel C_loops.slices ~long:false 2_000);
      case "kernel: slices without the lock" (kernel C_loops.slices ~long:true 100);
      case "kernel: indices" (kernel C_loops.indices ~long:false 2_000);
      case "kernel: indices without the lock" (kernel C_loops.indices ~long:true 100);
      case "domainslib: await" (ported ported_await);
      case "domainslib: await, raises" (ported ported_await_raises);
      case "domainslib: loops" (ported ported_loop);
      case "domainslib: loops, raise" (ported ported_loop_raises);
      case "domainslib: setup_pool and lookup_pool" ported_lookup;
      (* A round starts domains and ends them. *)
      case "domainslib: teardown_pool" ~limit:100_000 ported_teardown;
      case "domainslib: channels" (ported ported_chan);
    ]
