(* Recursive quicksort, in place: the two sides of a partition are independent, so they
   are sorted by one [both]. *)

let random size =
  let state = Random.State.make [| size |] in
  Array.init size (fun _ -> Random.State.bits state)

let[@inline] swap (a : int array) i j =
  let x = a.(i) in
  a.(i) <- a.(j);
  a.(j) <- x

let[@inline] median (x : int) y z =
  if x < y then if y < z then y else if x < z then z else x
  else if x < z then x
  else if y < z then z
  else y

let rec skip_smaller (a : int array) pivot i =
  if a.(i) < pivot then skip_smaller a pivot (i + 1) else i

let rec skip_larger (a : int array) pivot j =
  if a.(j) > pivot then skip_larger a pivot (j - 1) else j

(* Hoare's partition: the last index of the left side, where nothing is larger than
   anything on the right side. Equal keys are swapped too, which keeps the sides
   balanced. *)
let rec partition a pivot i j =
  let i = skip_smaller a pivot i and j = skip_larger a pivot j in
  if i >= j then j
  else begin
    swap a i j;
    partition a pivot (i + 1) (j - 1)
  end

(* A median of three is in the range and no unique maximum, so both scans stop inside
   the range and neither side is empty. *)
let split a low high = partition a (median a.(low) a.(low + ((high - low) / 2)) a.(high)) low high

let insertion_sort (a : int array) low high =
  for i = low + 1 to high do
    let x = a.(i) in
    let j = ref (i - 1) in
    while !j >= low && a.(!j) > x do
      a.(!j + 1) <- a.(!j);
      decr j
    done;
    a.(!j + 1) <- x
  done

(* Below this many elements insertion sort is the faster algorithm, in parallel or not.
   *)
let few = 16

let rec sort_sequential a low high =
  if high - low < few then insertion_sort a low high
  else begin
    let cut = split a low high in
    sort_sequential a low cut;
    sort_sequential a (cut + 1) high
  end

let rec sort_parallel a low high =
  if high - low < few then insertion_sort a low high
  else
    let cut = split a low high in
    let (), () =
      Muster.both (fun () -> sort_parallel a low cut) (fun () -> sort_parallel a (cut + 1) high)
    in
    ()

let sequential a = sort_sequential a 0 (Array.length a - 1)
let parallel a = sort_parallel a 0 (Array.length a - 1)

let rows size =
  let input = random size in
  let sorted sort a =
    sort a;
    a
  in
  let mine = Array.copy input in
  [
    Example.row "two sides by both"
      ~shows:
        "The two sides fork at every level. The first partition is sequential, so the speed-up \
         stays below the number of domains."
      ~show:(fun a -> Printf.sprintf "median %d" a.(size / 2))
      ~sequential:(fun () -> sorted sequential input)
      ~parallel:(fun _ -> sorted parallel mine);
  ]

let example =
  let size = Example.size ~max:100_000_000 ~default:4_000_000 "Sort $(docv) integers." in
  Example.command ~name:"quicksort" ~doc:"recursive quicksort, both sides in parallel" ~size
    (Cmdliner.Term.const rows)
