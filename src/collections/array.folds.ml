(* The second part of the text that Array, Floatarray and Bigarray.Array1 share (array.calls.ml).

   The own text has also [blank a n i], a result of [n] elements that may begin as if filled with
   the element [i] of [a]; [of_pieces] and [joined], which make one of arrays and of its like;
   [copy]; [sort]; and [name], for errors. *)

(* {2 Reductions}

   One call a turn: the value that goes from one to the next is kept on the stack, and with four
   places for it a turn takes 1.2 to 1.6 times as long on an Intel Xeon (Golden Cove). *)

let[@inline never] fold_from op acc s lo hi =
  let acc = ref acc in
  for i = lo to hi do
    acc := op !acc (read s i)
  done;
  !acc

let fold_chunk op s lo hi = fold_from op (read s lo) s (lo + 1) hi

let fold op init a =
  let n = length a and s = source a in
  if n <= Tuning.shortest_leaf && not (Adaptive.holds_up (code op) ~n) then
    fold_from op init s 0 (n - 1)
  else
    let leaf lo hi = if lo = 0 then fold_from op init s lo hi else fold_chunk op s lo hi in
    Leaves.reduce ~code:(code op) n leaf op

let fold_parts ~init ~add ~combine a =
  let n = length a and s = source a in
  let part lo hi = fold_from add (init ()) s lo hi in
  if n = 0 then init () else Leaves.reduce ~most:Tuning.few_parts ~code:(code add) n part combine

(* Each element may be a job of its own, as in a loop. *)
let map_reduce ~combine ~init f a =
  let n = length a and s = source a in
  let value i =
    let v = f (read s i) in
    if i = 0 then combine init v else v
  in
  if n = 0 then init else Reduce.indices (code f) 0 (n - 1) combine value

let reduce_by code op a =
  let n = length a and s = source a in
  if n = 0 then None else Some (Leaves.reduce ~code n (fun lo hi -> fold_chunk op s lo hi) op)

let reduce op a = reduce_by (code op) op a
let min cmp a = reduce_by (code cmp) (Leaves.least cmp) a
let max cmp a = reduce_by (code cmp) (Leaves.greatest cmp) a

(* A value that was written is not read again: from an array of floats that would allocate. *)
let[@inline never] scan_chunk op s r carry lo hi =
  let first = read s lo in
  let acc = ref (match carry with None -> first | Some carry -> op carry first) in
  write r lo !acc;
  for i = lo + 1 to hi do
    acc := op !acc (read s i);
    write r i !acc
  done

let scan op a =
  let n = length a and s = source a in
  if n < 2 then begin
    Fiber.check ();
    copy a
  end
  else begin
    let made = blank a n 0 in
    let r = target made in
    let total op lo hi = fold_chunk op s lo hi in
    Scan.prefixes (code op) n ~total ~scan:(fun op carry lo hi -> scan_chunk op s r carry lo hi) op;
    made
  end

let[@inline never] count_from p s lo hi =
  let count = ref 0 in
  for i = lo to hi do
    count := !count + Bool.to_int (p (read s i))
  done;
  !count

let count_chunk p (s, total) lo hi = ignore (Atomic.fetch_and_add total (count_from p s lo hi))

let rec count p a =
  let n = length a and s = source a in
  if n > 1 then begin
    let total = Atomic.make 0 in
    Chunks.run (code p) n count_chunk p (s, total);
    Atomic.get total
  end
  else if Adaptive.holds_up (code p) ~n then Adaptive.in_pool (fun () -> count p a)
  else count_from p s 0 (n - 1)

(* {2 Some of the elements} *)

let move_chunk s r at (found : Select.found) =
  for j = 0 to found.count - 1 do
    write r (at + j) (read s (Select.index found j))
  done

let pack ~others marks a =
  let chosen = Select.choose ~others marks and s = source a in
  let n = Select.total chosen in
  let made = blank a n (if n = 0 then 0 else Select.first chosen) in
  let r = target made in
  if n > 0 then Select.move chosen (fun at found -> move_chunk s r at found);
  made

let mark_chunk p s marks lo hi =
  for i = lo to hi do
    Select.mark marks i (p (read s i))
  done

let marks p a = Select.marks (code p) (length a) mark_chunk p (source a)
let none a = blank a 0 0

(* Of one element at most. *)
let is_kept p a = length a = 1 && exists p a

let filter p a =
  if length a > 1 then pack ~others:false (marks p a) a else if is_kept p a then copy a else none a

let partition p a =
  if length a > 1 then
    let marks = marks p a in
    let chosen = pack ~others:false marks a in
    (chosen, pack ~others:true marks a)
  else if is_kept p a then (copy a, none a)
  else (none a, copy a)

let filter_map_chunk f s lo hi =
  let kept = ref [||] and count = ref 0 in
  for i = lo to hi do
    match f (read s i) with
    | None -> ()
    | Some v ->
      if !count = Stdlib.Array.length !kept then
        kept := Pieces.widened !kept v ~room:(!count + hi - i + 1);
      Fresh.put !kept !count v;
      incr count
  done;
  Stdlib.Array.sub !kept 0 !count

let filter_map f a = of_pieces a (Pieces.collect (code f) (length a) filter_map_chunk f (source a))

let concat_map_chunk f (a, s) lo hi =
  joined a (Stdlib.List.init (hi - lo + 1) (fun d -> f (read s (lo + d))))

let concat_map f a = joined a (Pieces.collect (code f) (length a) concat_map_chunk f (a, source a))

(* {2 Sorting and groups} *)

let first_chunk cmp s marks lo hi =
  for i = lo to hi do
    Select.mark marks i (i = 0 || cmp (read s (i - 1)) (read s i) <> 0)
  done

let sort_uniq cmp a =
  let sorted = copy a in
  sort cmp sorted;
  let marks = Select.marks (code cmp) (length a) first_chunk cmp (source sorted) in
  pack ~others:false marks sorted

let map_to_array_chunk f s r lo hi =
  for i = lo to hi do
    Fresh.put r i (f (read s i))
  done

let map_to_array f a = Fresh.build (code f) (length a) map_one map_to_array_chunk f (source a)

let group_by key a =
  let s = source a in
  let gather indices =
    let element j = read s (Stdlib.Array.unsafe_get indices j) in
    build a (Stdlib.Array.length indices) init_one init_chunk element ()
  in
  Groups.by (map_to_array key a) gather

let histogram_chunk f (s, tables) lo hi =
  let count table () =
    for i = lo to hi do
      Groups.add tables table (f (read s i))
    done
  in
  Groups.with_table tables count ()

let histogram ~bins f a =
  let tables = Groups.tables name ~bins in
  Chunks.run (code f) (length a) histogram_chunk f (source a, tables);
  Groups.total tables
