(* Collections: elements are blocks that functions make and read plainly, and results are arrays and
   lists that several workers write. Functions are slow enough for that. *)

open Rounds
module A = Muster.Parallel.Array
module L = Muster.Parallel.List
module A1 = Muster.Parallel.Bigarray.Array1

let n = 128

let slow i =
  pauses 40;
  i

let block i =
  pauses 40;
  ref i

let indices = Array.init n Fun.id
let sum = Array.fold_left (fun sum block -> sum + !block) 0
let of_0_to n = n * (n - 1) / 2
let in_pool = in_task 3

let maps =
  in_pool 100 (fun round ->
      let made = A.map block indices in
      let again =
        A.mapi
          (fun i b ->
            pauses 40;
            ref (i + !b))
          made
      in
      let pairs =
        A.map2
          (fun a b ->
            pauses 40;
            ref (!a + !b))
          made again
      in
      check "the sum" (sum pairs = 3 * of_0_to n);
      A.map_inplace
        (fun b ->
          pauses 40;
          ref (!b + round))
        pairs;
      check "in place" (sum pairs = (3 * of_0_to n) + (n * round)))

let inits =
  in_pool 100 (fun _ ->
      check "blocks" (sum (A.init n block) = of_0_to n);
      let floats =
        A.init n (fun i ->
            pauses 40;
            Float.of_int i)
      in
      check "floats" (Array.fold_left ( +. ) 0. floats = Float.of_int (of_0_to n)))

(* Chunks that are done before the result is there move into it. *)
let long_results =
  let long = 70_000 in
  in_pool 3 (fun _ ->
      let made = A.init long (fun i -> ref i) in
      let last = A.map (fun b -> ref (!b + 1)) made in
      check "the last" (!(last.(long - 1)) = long))

let reductions =
  in_pool 100 (fun _ ->
      let add a b =
        pauses 4;
        ref (!a + !b)
      in
      let made = A.map block indices in
      check "fold" (!(A.fold add (ref 0) made) = of_0_to n);
      check "scan" (!((A.scan add made).(n - 1)) = of_0_to n);
      check "count" (A.count (fun b -> slow !b land 1 = 0) made = n / 2);
      let by_content a b =
        pauses 4;
        Int.compare !a !b
      in
      check "max" (Option.map ( ! ) (A.max by_content made) = Some (n - 1)))

let some_of_them =
  in_pool 100 (fun _ ->
      let made = A.map block indices in
      let is_even b =
        pauses 40;
        !b land 1 = 0
      in
      check "filter" (Array.length (A.filter is_even made) = n / 2);
      let evens, odds = A.partition is_even made in
      check "partition" (sum evens + sum odds = of_0_to n);
      let twice b =
        pauses 40;
        [| b; ref !b |]
      in
      check "concat_map" (sum (A.concat_map twice made) = 2 * of_0_to n);
      let found = A.find_opt (fun b -> slow !b > n / 2) made in
      check "the first" (Option.map ( ! ) found = Some ((n / 2) + 1)))

exception Failed of int ref

let raises =
  in_pool 100 (fun round ->
      let f i =
        pauses 40;
        if i >= n / 2 then raise (Failed (ref (round + i)))
      in
      match A.iter f indices with
      | () -> check "raises" false
      | exception Failed content -> check "the leftmost" (!content = round + (n / 2)))

let sorts =
  let length = 3_000 in
  let keys = Array.init length (fun i -> ref i) in
  in_pool 12 (fun round ->
      Array.iteri (fun i key -> key := i * (1 + round) mod 2_999) keys;
      let compare a b = Int.compare !a !b in
      let sorted = Array.copy keys in
      A.sort compare sorted;
      let is_sorted = ref true in
      for i = 1 to length - 1 do
        is_sorted := !is_sorted && compare sorted.(i - 1) sorted.(i) <= 0
      done;
      check "sorted" !is_sorted)

let groups =
  let long = Array.init 4_000 Fun.id in
  in_pool 12 (fun _ ->
      let groups = A.group_by (fun i -> ref (i land 7)) long in
      check "eight" (Array.length groups = 8);
      let bins =
        A.histogram ~bins:8
          (fun i ->
            pauses 4;
            i land 7)
          long
      in
      check "as many each" (Array.for_all (fun n -> n = 500) bins))

let flat_ones =
  in_pool 60 (fun _ ->
      let floats = Muster.Parallel.Floatarray.init n (fun i -> Float.of_int (slow i)) in
      let twice =
        Muster.Parallel.Floatarray.map
          (fun x ->
            pauses 40;
            2. *. x)
          floats
      in
      check "floats" (Muster.Parallel.Floatarray.fold ( +. ) 0. twice = Float.of_int (2 * of_0_to n));
      let bytes = Muster.Parallel.Bytes.init n (fun i -> Char.chr (slow i)) in
      let up c =
        pauses 40;
        Char.chr (Char.code c lxor 1)
      in
      check "bytes" (Bytes.get (Muster.Parallel.Bytes.map up bytes) 0 = '\001');
      let bigs = A1.init Bigarray.int Bigarray.c_layout n slow in
      check "bigs" (A1.fold ( + ) 0 (A1.map slow bigs) = of_0_to n))

(* {2 Lists and sequences} *)

let lists =
  let indices = List.init (4 * n) Fun.id in
  let last = (4 * n) - 1 in
  in_pool 60 (fun _ ->
      let made = L.map block indices in
      check "the order" (List.for_all2 (fun i b -> !b = i) indices made);
      let is_even b =
        pauses 40;
        !b land 1 = 0
      in
      let evens, odds = L.partition is_even made in
      check "partition" (List.length evens = 2 * n && List.length odds = 2 * n);
      let add a b = ref (!a + !b) in
      check "fold" (!(L.fold add (ref 0) made) = of_0_to (4 * n));
      let concat =
        L.concat_map
          (fun b ->
            pauses 40;
            [ b; b ])
          made
      in
      check "concat_map" (List.length concat = 8 * n);
      check "the last" (!(L.find (fun b -> slow !b = last) made) = last))

let sequences =
  in_pool 60 (fun round ->
      let forced = ref 0 and cells = Array.make (4 * n) 0 in
      let element i =
        incr forced;
        ref i
      in
      let seq = Seq.map element (Seq.init (4 * n) Fun.id) in
      Muster.Parallel.Seq.iter
        (fun b ->
          pauses 40;
          cells.(!b) <- round + !b)
        seq;
      check "each forced once" (!forced = 4 * n);
      check "each called" (Array.for_all Fun.id (Array.mapi (fun i c -> c = round + i) cells));
      let add a b = ref (!a + !b) in
      check "fold" (!(Muster.Parallel.Seq.fold add (ref 0) seq) = of_0_to (4 * n)))

(* {2 Several callers} *)

let several_callers pool =
  let caller i round =
    let run f = Muster.Pool.run pool f in
    let made = run (fun () -> A.map block indices) in
    let bins = run (fun () -> A.histogram ~bins:4 (fun b -> slow !b land 3) made) in
    check "its own" (sum made = of_0_to n && bins.(i land 3) = n / 4 && round >= 0)
  in
  race 60 (List.init 3 caller)

let () =
  main
    [
      case "maps: of blocks" maps;
      case "fresh: short results" inits;
      case "fresh: long results" long_results;
      case "reductions: of blocks" reductions;
      case "pieces: some of the elements" some_of_them;
      case "raises: the leftmost" raises;
      case "sort: of blocks" sorts;
      case "groups: and histograms" groups;
      case "flat: floats, bytes, bigarrays" flat_ones;
      case "lists: of blocks" lists;
      case "sequences: forced once" sequences;
      case "callers: three" (with_pool 2 several_callers);
    ]
