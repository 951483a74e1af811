module Loop = Muster_loop

let check_grain fn = function
  | Some grain when grain < 1 -> Link.invalid fn "grain = %d is less than 1" grain
  | _ -> ()

let length fn start finish =
  let n = finish - start + 1 in
  if start <= finish && n < 1 then Link.invalid fn "%d to %d is too long" start finish;
  Int.max 0 n

(* [Printf] would take a tenth of a short operation's time. *)
let ranged fn start finish =
  String.concat "" [ fn; " "; string_of_int start; ".."; string_of_int finish ]

let parallel_for ~start ~finish f =
  let n = length "parallel_for" start finish in
  let own () =
    let first, next = Blocks.own n in
    Muster.parallel_for ~start:(start + first) ~finish:(start + next - 1) f
  in
  ignore (Collective.agree (ranged "parallel_for" start finish) own)

(* {2 Reductions}

   The tree is that of one machine (Muster_loop.Reduce): leaves of so many indices each, and a node of
   leaves [a] to [b] has its children's border at [a + (b - a) / 2]. Each rank has a block of leaves,
   and computes the values of the largest nodes within its block, from left to right. Then each rank
   has all of these values, and combines them along the rest of the tree. *)

type 'a tree = { last : int; node : int -> int -> 'a; combine : 'a -> 'a -> 'a }

let middle a b = a + ((b - a) / 2)
let rank_of t leaf = Blocks.owner (t.last + 1) leaf

let own_nodes t =
  let first, next = Blocks.own (t.last + 1) in
  let rec nodes a b =
    let m = middle a b in
    if first <= a && b < next then [ t.node a b ]
    else if next <= m + 1 then nodes a m
    else if m < first then nodes (m + 1) b
    else
      let left, right = Muster.both (fun () -> nodes a m) (fun () -> nodes (m + 1) b) in
      left @ right
  in
  if first = next then [] else nodes 0 t.last

let rec join t values a b =
  if rank_of t a = rank_of t b then
    match values with v :: rest -> (v, rest) | [] -> assert false
  else
    let m = middle a b in
    let left, values = join t values a m in
    let right, values = join t values (m + 1) b in
    (t.combine left right, values)

let reduce call t =
  let values = Collective.share call (fun () -> own_nodes t) in
  Collective.on_all_alike (fun () -> fst (join t (List.concat (Array.to_list values)) 0 t.last))

let parallel_reduce_of fn cut local ~start ~finish ~combine ~init =
  ignore (length fn start finish);
  let call = ranged fn start finish in
  if start > finish then (Collective.agree call (fun () -> init)).(0)
  else
    let per_leaf, last = cut start finish in
    let call = String.concat " by " [ call; string_of_int per_leaf ] in
    let node a b =
      let lo = start + (a * per_leaf) in
      let hi = if b = last then finish else start + ((b + 1) * per_leaf) - 1 in
      local ~grain:per_leaf ~start:lo ~finish:hi
    in
    Collective.within call (fun () -> reduce call { last; node; combine })

let parallel_reduce ?grain ~start ~finish ~combine ~init f =
  check_grain "parallel_reduce" grain;
  let local ~grain ~start ~finish = Muster.parallel_reduce ~grain ~start ~finish ~combine ~init f in
  parallel_reduce_of "parallel_reduce" (Loop.Reduce.cut ?grain) local ~start ~finish ~combine ~init

let parallel_reduce_range ?grain ~start ~finish ~combine ~init f =
  check_grain "parallel_reduce_range" grain;
  let local ~grain ~start ~finish =
    Muster.parallel_reduce_range ~grain ~start ~finish ~combine ~init f
  in
  parallel_reduce_of "parallel_reduce_range" (Loop.Parts.cut ?grain) local ~start ~finish ~combine
    ~init

(* {2 Search}

   By rounds, each twice as long as the one before: no rank is more than one round behind the find. *)

let first_round = 16

let parallel_find ~start ~finish f =
  let n = length "parallel_find" start finish and call = ranged "parallel_find" start finish in
  let rec search from round =
    let round = Int.min round (n - from) in
    let own () =
      let first, next = Blocks.own round and start = start + from in
      Collective.attempt (fun () ->
          Muster.parallel_find ~start:(start + first) ~finish:(start + next - 1) f)
    in
    let is_event = function Ok None -> false | Ok (Some _) | Error _ -> true in
    let found = Array.find_opt is_event (Collective.share call own) in
    match found with
    | Some outcome -> Collective.value outcome
    | None -> if from + round < n then search (from + round) (2 * round) else None
  in
  Collective.within call (fun () -> search 0 (first_round * Link.ranks ()))

(* {2 Prefixes}

   In the blocks of one machine (Muster_loop.Scan), with the same operations on each: the totals of
   all blocks but the last, from left to right the totals of all before each block, and each block
   from there. *)

let total op a lo hi =
  let sum = ref a.(lo) in
  for i = lo + 1 to hi do
    sum := op !sum a.(i)
  done;
  !sum

let scan_block op a result carry lo hi =
  let sum = ref (Option.fold carry ~none:a.(lo) ~some:(fun carry -> op carry a.(lo))) in
  result.(lo) <- !sum;
  for i = lo + 1 to hi do
    sum := op !sum a.(i);
    result.(i) <- !sum
  done

let scan_in_blocks call op a =
  let n = Array.length a in
  let size = ((n - 1) / Loop.Tuning.blocks) + 1 in
  let last = (n - 1) / size in
  let first, next = Blocks.own (last + 1) in
  let bounds b = (b * size, Int.min n ((b + 1) * size) - 1) in
  let own_totals () =
    let total b =
      let lo, hi = bounds b in
      total op a lo hi
    in
    Muster.Parallel.Array.init (Int.max 0 (Int.min next last - first)) (fun i -> total (first + i))
  in
  let totals = Array.concat (Array.to_list (Collective.share call own_totals)) in
  let carry () =
    for b = 1 to last - 1 do
      totals.(b) <- op totals.(b - 1) totals.(b)
    done
  in
  Collective.on_all_alike carry;
  let own_prefixes () =
    let result = Array.copy a in
    let scan b =
      let lo, hi = bounds b in
      scan_block op a result (if b = 0 then None else Some totals.(b - 1)) lo hi
    in
    Muster.parallel_for ~start:first ~finish:(next - 1) scan;
    let lo = Int.min n (first * size) and hi = Int.min n (next * size) in
    Array.sub result lo (hi - lo)
  in
  Gather.arrays call ~on:None own_prefixes

let parallel_scan op a =
  let n = Array.length a in
  let call = Printf.sprintf "parallel_scan of %d" n in
  if n <= Loop.Tuning.one_block then
    (Collective.agree call (fun () -> Muster.parallel_scan op a)).(Link.rank ())
  else Collective.within call (fun () -> scan_in_blocks call op a)
