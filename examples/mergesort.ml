(* Recursive mergesort. The halves are sorted by one [both]; so that the last merges do
   not leave domains idle, a long merge is cut in two as well: the middle of the longer
   run and the place where it belongs in the shorter one split the merge into two
   independent merges. *)

(* A half-open range of an array: [from.(low) .. from.(high - 1)]. *)
type run = { from : int array; low : int; high : int }

let length run = run.high - run.low

let merge a b (into : int array) at =
  let i = ref a.low and j = ref b.low in
  for k = at to at + length a + length b - 1 do
    if !j >= b.high || (!i < a.high && a.from.(!i) <= b.from.(!j)) then begin
      into.(k) <- a.from.(!i);
      incr i
    end
    else begin
      into.(k) <- b.from.(!j);
      incr j
    end
  done

(* The first index of [run] whose element is not less than [x]. *)
let rec lower_bound run (x : int) =
  if run.low >= run.high then run.low
  else
    let middle = run.low + (length run / 2) in
    if run.from.(middle) < x then lower_bound { run with low = middle + 1 } x
    else lower_bound { run with high = middle } x

(* A merge of fewer elements takes less time than waking a domain for its other half. *)
let long = 8192

let rec merge_parallel a b into at =
  if length a < length b then merge_parallel b a into at
  else if length a + length b < long then merge a b into at
  else
    let i = a.low + (length a / 2) in
    let j = lower_bound b a.from.(i) in
    let (), () =
      Muster.both
        (fun () -> merge_parallel { a with high = i } { b with high = j } into at)
        (fun () ->
          let at = at + (i - a.low) + (j - b.low) in
          merge_parallel { a with low = i } { b with low = j } into at)
    in
    ()

let few = 16

(* Sorts [low, high) into [into]. The two arrays hold the same elements there before the
   call and change roles at every level, so that no level copies. *)
let rec sort_sequential ~from ~into low high =
  if high - low <= few then Quicksort.insertion_sort into low (high - 1)
  else begin
    let middle = low + ((high - low) / 2) in
    sort_sequential ~from:into ~into:from low middle;
    sort_sequential ~from:into ~into:from middle high;
    merge { from; low; high = middle } { from; low = middle; high } into low
  end

let rec sort_parallel ~from ~into low high =
  if high - low <= few then Quicksort.insertion_sort into low (high - 1)
  else
    let middle = low + ((high - low) / 2) in
    let (), () =
      Muster.both
        (fun () -> sort_parallel ~from:into ~into:from low middle)
        (fun () -> sort_parallel ~from:into ~into:from middle high)
    in
    merge_parallel { from; low; high = middle } { from; low = middle; high } into low

let sequential a = sort_sequential ~from:(Array.copy a) ~into:a 0 (Array.length a)
let parallel a = sort_parallel ~from:(Array.copy a) ~into:a 0 (Array.length a)

let rows size =
  let input = Quicksort.random size in
  let sorted sort a =
    sort a;
    a
  in
  let mine = Array.copy input in
  [
    Example.row "halves and merges by both"
      ~shows:"Both the halves and their merges fork; there is no cut-off for forks."
      ~show:(fun a -> Printf.sprintf "median %d" a.(size / 2))
      ~sequential:(fun () -> sorted sequential input)
      ~parallel:(fun _ -> sorted parallel mine);
  ]

let example =
  let size = Example.size ~max:100_000_000 ~default:4_000_000 "Sort $(docv) integers." in
  Example.command ~name:"mergesort" ~doc:"recursive mergesort with parallel merges" ~size
    (Cmdliner.Term.const rows)
