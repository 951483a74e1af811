(* Collections, C kernels and Domainslib's interface: what was done before an operation is seen by
   the functions that it calls, and what these did is seen after it. *)

module Pool = Muster.Pool
open Rounds
module A1 = Muster.Bigarray.Array1

let n = 96
let given = ref 0
let cells = Array.make n 0
let all_are round = Array.for_all (fun cell -> cell = round) cells
let indices = Array.init n Fun.id
let floats = Float.Array.init n Float.of_int
let bytes = Bytes.init n Char.chr
let bigs = A1.init Bigarray.int Bigarray.c_layout n Fun.id
let list = List.init n Fun.id

(* What the functions do. It takes long enough to be shared. *)
let touch i = pauses 40; cells.(i) <- !given
let touched i = touch i; i
let of_char c = touch (Char.code c)

(* [operation] calls [touch] for each index. *)
let operation call =
  in_task 2 250 (fun round ->
      given := round;
      call ();
      check "called, so given; returned, so done" (all_are round))

(* Blocks that the operation's functions made elsewhere are read here. *)
let makes call =
  in_task 2 250 (fun round ->
      given := round;
      let block i = touch i; ref (round + i) in
      check "returned, so made" (call block = n * (2 * round + n - 1) / 2 && all_are round))

let sum = Array.fold_left (fun sum block -> sum + !block) 0
let sum_list = List.fold_left (fun sum block -> sum + !block) 0

(* Operands are blocks as well, and were made before they are combined. *)
let add a b = ref (!a + !b)

let array_map block = sum (Muster.Array.map block indices)
let array_init block = sum (Muster.Array.init n block)
let array_filter block = sum (Muster.Array.filter_map (fun i -> Some (block i)) indices)
let array_concat block = sum (Muster.Array.concat_map (fun i -> [| block i |]) indices)

let array_fold block = !(Muster.Array.fold add (ref 0) (Muster.Array.map block indices))

let array_scan block =
  let prefixes = Muster.Array.scan add (Muster.Array.map block indices) in
  !(prefixes.(n - 1))

let array_groups block =
  let groups = Muster.Array.group_by (fun i -> touch i; i land 3) indices in
  Array.fold_left (fun n (_, group) -> n + sum (Array.map block group)) 0 groups

let list_map block = sum_list (Muster.List.map block list)
let list_filter block = sum_list (Muster.List.filter_map (fun i -> Some (block i)) list)
let list_fold block = !(Muster.List.fold add (ref 0) (Muster.List.map block list))

(* What happened when an element was forced is seen by its call. *)
let seq_iter () =
  let forced = Array.make n 0 in
  let element i = forced.(i) <- !given; i in
  let seq = Seq.map element (Seq.init n Fun.id) in
  Muster.Seq.iter (fun i -> check "forced before" (forced.(i) = !given); touch i) seq

let seq_count () = ignore (Muster.Seq.count (fun i -> touch i; true) (List.to_seq list))

(* A comparison sees what the caller did, and its result is sorted plainly. *)
let sort =
  let keys = Array.init 2_000 (fun i -> ref i) in
  in_task 2 30 (fun round ->
      Array.iteri (fun i key -> key := (i * (1 + (2 * round))) mod 1999) keys;
      let by_key a b = Int.compare !a !b in
      let a = Array.copy keys in
      Muster.Array.sort by_key a;
      let in_order = ref true in
      for i = 1 to 1_999 do in_order := !in_order && by_key a.(i - 1) a.(i) <= 0 done;
      check "sorted" !in_order)

let search =
  in_task 2 250 (fun round ->
      given := round;
      let found = Muster.Array.find_map (fun i -> touch i; if i = n - 1 then Some (ref round) else None) in
      check "found, so made" (!(Option.get (found indices)) = round && all_are round))

exception Failed of int ref

let raises =
  in_task 2 250 (fun round ->
      given := round;
      let f i = touch i; if i = n - 1 then raise (Failed (ref round)) in
      match Muster.Array.iter f indices with
      | () -> check "raises" false
      | exception Failed content -> check "raised, so done" (!content = round && all_are round))

(* {2 Loops with results} *)

let prefixes =
  in_task 2 50 (fun round ->
      given := round;
      let op a b = check "called, so given" (!given = round); ref (!a + !b) in
      let prefixes = Muster.parallel_scan op (Array.init 2_000 (fun i -> ref i)) in
      check "returned, so done" (!(prefixes.(1_999)) = 1_999_000))

let find =
  in_task 2 500 (fun round ->
      given := round;
      let f i = touch i; if i = n - 1 then Some (ref round) else None in
      match Muster.parallel_find ~grain:1 ~start:0 ~finish:(n - 1) f with
      | Some found -> check "found, so done" (!found = round && all_are round)
      | None -> check "found" false)

(* {2 C kernels} *)

let kernel loop ~long times =
  let cells = C_loops.cells n in
  in_task 2 times (fun round ->
      for i = 0 to n - 1 do cells.{i} <- cells.{i} + 1 done;
      check "workers" (loop cells ~long >= 1);
      for i = 0 to n - 1 do check "returned, so done" (cells.{i} = 2 * (round + 1)) done)

(* {2 Domainslib's interface} *)

module D = Domainslib

let ported f () =
  let pool = D.Task.setup_pool ~num_domains:1 () in
  f pool;
  D.Task.teardown_pool pool

let ported_await pool =
  repeat 2_000 (fun round ->
      given := round;
      let task = D.Task.async pool (fun () -> touch (round mod n); ref round) in
      loiter round;
      check "awaited, so done"
        (!(D.Task.await pool task) = round && cells.(round mod n) = round))

let ported_loop pool =
  repeat 250 (fun round ->
      given := round;
      D.Task.parallel_for ~start:0 ~finish:(n - 1) ~body:touch pool;
      check "returned, so done" (all_are round);
      given := -round;
      let sum = D.Task.parallel_for_reduce ~start:0 ~finish:(n - 1) ~body:touched pool ( + ) 0 in
      check "returned, so done" (all_are (-round) && sum = n * (n - 1) / 2))

let ported_chan _ =
  let chan = D.Chan.make_bounded 1 in
  let send round = given := round; D.Chan.send chan () in
  let receive round = D.Chan.recv chan; check "received, so written" (!given = round) in
  race 5_000 [ send; receive ]

let () =
  insist_on 3;
  main
    [ case "array: iter" (operation (fun () -> Muster.Array.iter touch indices));
      case "array: map_inplace" (operation (fun () -> Muster.Array.map_inplace touched indices));
      case "array: map" (makes array_map);
      case "array: init" (makes array_init);
      case "array: filter_map" (makes array_filter);
      case "array: concat_map" (makes array_concat);
      case "array: fold" (makes array_fold);
      case "array: scan" (makes array_scan);
      case "array: group_by" (makes array_groups);
      case "array: sort" sort;
      case "array: find_map" search;
      case "array: raises" raises;
      case "floatarray: iter"
        (operation (fun () -> Muster.Floatarray.iter (fun x -> touch (Float.to_int x)) floats));
      case "bytes: iter" (operation (fun () -> Muster.Bytes.iter of_char bytes));
      case "string: iter"
        (operation (fun () -> Muster.String.iter of_char (Bytes.to_string bytes)));
      case "bigarray: iter" (operation (fun () -> A1.iter touch bigs));
      case "list: iter" (operation (fun () -> Muster.List.iter touch list));
      case "list: map" (makes list_map);
      case "list: filter_map" (makes list_filter);
      case "list: fold" (makes list_fold);
      case "seq: iter" (operation seq_iter);
      case "seq: count" (operation seq_count);
      case "loop: scan" prefixes;
      case "loop: find" find;
      case "kernel: slices" (kernel C_loops.slices ~long:false 2_000);
      case "kernel: slices without the lock" (kernel C_loops.slices ~long:true 100);
      case "kernel: indices" (kernel C_loops.indices ~long:false 2_000);
      case "kernel: indices without the lock" (kernel C_loops.indices ~long:true 100);
      case "domainslib: await" (ported ported_await);
      case "domainslib: loops" (ported ported_loop);
      case "domainslib: channels" (ported ported_chan) ]
