(* Folds to another type, sums of lists, loops over pairs and with states: against the sequential
   program that one would write. *)

module A = Muster.Parallel.Array
module L = Muster.Parallel.List
module S = Muster.Parallel.Seq

let bump counts key n =
  let before = match Hashtbl.find_opt counts key with Some n -> n | None -> 0 in
  Hashtbl.replace counts key (before + n)

let count counts key =
  bump counts key 1;
  counts

let join counts others =
  Hashtbl.iter (bump counts) others;
  counts

let table () = Hashtbl.create 16

(* Two sums at once. *)
let both (n, sum) x = (n + 1, sum + x)
let join_both (n, sum) (m, more) = (n + m, sum + more)

(* Made by the first call, which is not measured: a long list costs the others' collections. *)
let ( !! ) = Lazy.force

let folds n =
  let keys = lazy (Array.map (fun x -> x mod 1_000) (Arrays.random_ints n)) in
  let list = lazy (Array.to_list (Lazy.force keys)) in
  let body = Arrays.body_of_20_ns () and plus = Arrays.plus in
  let add sum x = plus sum (body x) in
  let case name against bar ours theirs = Case.make ("folds, " ^ name) n ~against bar ~ours ~theirs in
  let faster x = if n > Case.small then Case.Faster x else Case.Note in
  [
    case "array, a table" "one Hashtbl" (faster 1.4)
      (fun () -> A.fold_parts ~init:table ~add:count ~combine:join !!keys)
      (fun () -> Array.fold_left count (table ()) !!keys);
    case "list, a table" "one Hashtbl" Case.Note
      (fun () -> L.fold_parts ~init:table ~add:count ~combine:join !!list)
      (fun () -> List.fold_left count (table ()) !!list);
    case "seq, a table" "one Hashtbl" Case.Note
      (fun () -> S.fold_parts ~init:table ~add:count ~combine:join (Array.to_seq !!keys))
      (fun () -> Seq.fold_left count (table ()) (Array.to_seq !!keys));
    case "array, two sums" "fold_left" Case.Note
      (fun () -> A.fold_parts ~init:(fun () -> (0, 0)) ~add:both ~combine:join_both !!keys)
      (fun () -> Array.fold_left both (0, 0) !!keys);
    case "array, + of a 20 ns value, fold_parts" "fold_left" Case.Note
      (fun () -> A.fold_parts ~init:(fun () -> 0) ~add ~combine:plus !!keys)
      (fun () -> Array.fold_left add 0 !!keys);
    case "array, + of a 20 ns value, map_reduce" "fold_left" Case.Note
      (fun () -> A.map_reduce ~combine:plus ~init:0 body !!keys)
      (fun () -> Array.fold_left add 0 !!keys);
    case "list, + of a 20 ns value, map_reduce" "fold_left" Case.Note
      (fun () -> L.map_reduce ~combine:plus ~init:0 body !!list)
      (fun () -> List.fold_left add 0 !!list);
    case "seq, + of a 20 ns value, map_reduce" "fold_left" Case.Note
      (fun () -> S.map_reduce ~combine:plus ~init:0 body (Array.to_seq !!keys))
      (fun () -> Seq.fold_left add 0 (Array.to_seq !!keys));
    case "array, + 1, map_reduce" "fold_left" Case.Note
      (fun () -> A.map_reduce ~combine:plus ~init:0 Arrays.successor !!keys)
      (fun () -> Array.fold_left (fun sum x -> plus sum (Arrays.successor x)) 0 !!keys);
    case "list, + 1, map_reduce" "fold_left" Case.Note
      (fun () -> L.map_reduce ~combine:plus ~init:0 Arrays.successor !!list)
      (fun () -> List.fold_left (fun sum x -> plus sum (Arrays.successor x)) 0 !!list);
  ]

let sum_of_ints (a : int array) =
  let sum = ref 0 in
  for i = 0 to Array.length a - 1 do
    sum := !sum + a.(i)
  done;
  !sum

let sums n =
  let ints = lazy (Array.init n Fun.id) and floats = lazy (List.init n float_of_int) in
  let list = lazy (Array.to_list (Lazy.force ints)) in
  let case name against bar ours theirs = Case.make ("sums, " ^ name) n ~against bar ~ours ~theirs in
  [
    case "array of ints" "a loop" Case.Note (fun () -> A.sum_ints !!ints) (fun () -> sum_of_ints !!ints);
    case "list of ints" "fold_left" (Case.Slower 1.25)
      (fun () -> L.sum_ints !!list)
      (fun () -> List.fold_left ( + ) 0 !!list);
    case "list of floats" "fold_left" (Case.Slower 1.25)
      (fun () -> L.sum !!floats)
      (fun () -> List.fold_left ( +. ) 0. !!floats);
    case "seq of floats" "fold_left" (Case.Slower 1.25)
      (fun () -> S.sum (List.to_seq !!floats))
      (fun () -> Seq.fold_left ( +. ) 0. (List.to_seq !!floats));
  ]

(* {2 Pairs, rows and states} *)

type grid = (float, Bigarray.float64_elt, Bigarray.c_layout) Bigarray.Array2.t

type row = (float, Bigarray.float64_elt, Bigarray.c_layout) Bigarray.Array1.t

let[@inline] cell (now : grid) i j =
  let around = now.{i - 1, j} +. now.{i + 1, j} +. now.{i, j - 1} +. now.{i, j + 1} in
  now.{i, j} +. (0.2 *. (around -. (4. *. now.{i, j})))

let loops side =
  let grid () : grid =
    Bigarray.Array2.init Float64 C_layout side side (fun i j -> float_of_int (i + j))
  in
  let now = grid () and next = grid () in
  let last = side - 2 in
  let plainly () =
    for i = 1 to last do
      for j = 1 to last do
        next.{i, j} <- cell now i j
      done
    done
  in
  let row i (row : row) =
    if i > 0 && i <= last then
      for j = 1 to last do
        row.{j} <- cell now i j
      done
  in
  let n = side * side in
  let case name bar ours theirs =
    Case.make ("loops, " ^ name) n ~against:"two loops" bar ~ours ~theirs
  in
  let texts = Array.make n "" in
  let print buffer i =
    Buffer.clear buffer;
    Buffer.add_string buffer (string_of_int i);
    texts.(i) <- Buffer.contents buffer
  in
  [
    case "a stencil, iteri_rows" Case.Note
      (fun () -> Muster.Parallel.Bigarray.Array2.iteri_rows row next)
      plainly;
    case "a stencil, parallel_for2" Case.Note
      (fun () ->
        Muster.parallel_for2 ~start:(1, 1) ~finish:(last, last) (fun i j ->
            next.{i, j} <- cell now i j))
      plainly;
    case "a stencil, parallel_for over rows" Case.Note
      (fun () ->
        Muster.parallel_for ~start:1 ~finish:last (fun i ->
            for j = 1 to last do
              next.{i, j} <- cell now i j
            done))
      plainly;
    case "a buffer, parallel_for_init" Case.Note
      (fun () ->
        Muster.parallel_for_init ~start:0 ~finish:(n - 1)
          ~init:(fun () -> Buffer.create 16)
          print)
      (fun () ->
        let buffer = Buffer.create 16 in
        for i = 0 to n - 1 do
          print buffer i
        done);
  ]

let cases ~quick =
  let large = if quick then [ 10_000 ] else [ Case.large; 10_000_000 ] in
  let few = [ Case.small; 10 ] in
  List.concat_map (fun n -> folds n @ sums n) (large @ few)
  @ List.concat_map loops ((if quick then [ 100 ] else [ 1_000; 3_000 ]) @ [ 10; 4 ])
