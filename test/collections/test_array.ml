(* Muster.Parallel.Array against the stdlib: immediate, boxed and unboxed elements. *)

open Harness
open Collection_inputs.Inputs
module A = Muster.Parallel.Array

(* Elements that stand for numbers: results are compared as they are. *)
type 'x elements = { of_int : int -> 'x; to_int : 'x -> int }

let ints = { of_int = Fun.id; to_int = Fun.id }
let floats = { of_int = float_of_int; to_int = int_of_float }
let strings = { of_int = string_of_int; to_int = int_of_string }

(* Some immediate, some boxed: results change between the two. *)
let mixed =
  {
    of_int = (fun i -> if i land 1 = 0 then Either.Left i else Either.Right (ref i));
    to_int = (function Either.Left i -> i | Either.Right i -> !i);
  }

let options =
  {
    of_int = (fun i -> if i = 0 then None else Some i);
    to_int = (function None -> 0 | Some i -> i);
  }

let one_for_each { of_int; to_int } =
  let input t = Array.map of_int t.values in
  let step t x = of_int (visit t (to_int x) + 1) in
  let stepi t i x = of_int (i + visit t (to_int x)) in
  let both t x y = of_int (visit t (to_int x) + visit t (to_int y)) in
  let inplace map step t =
    let a = input t in
    map (step t) a;
    a
  in
  let laws =
    [
      ( "init",
        fun t ->
          let f i = step t (of_int t.values.(i)) and n = Array.length t.values in
          agree (fun () -> A.init n f) (fun () -> Array.init n f) );
      ( "map",
        fun t ->
          let a = input t in
          agree (fun () -> A.map (step t) a) (fun () -> Array.map (step t) a) );
      ( "mapi",
        fun t ->
          let a = input t in
          agree (fun () -> A.mapi (stepi t) a) (fun () -> Array.mapi (stepi t) a) );
      ( "map2",
        fun t ->
          let a = input t in
          let b = Array.map (fun x -> x) a in
          agree (fun () -> A.map2 (both t) a b) (fun () -> Array.map2 (both t) a b) );
      ( "map_inplace",
        fun t ->
          agree
            (fun () -> inplace A.map_inplace step t)
            (fun () -> inplace Array.map_inplace step t) );
      ( "mapi_inplace",
        fun t ->
          agree
            (fun () -> inplace A.mapi_inplace stepi t)
            (fun () -> inplace Array.mapi_inplace stepi t) );
      ( "combine and split",
        fun t ->
          let a = input t in
          let pairs = A.combine a t.values in
          pairs = Array.combine a t.values && A.split pairs = (a, t.values) );
    ]
  in
  laws

let reductions { of_int; to_int } =
  let input t = Array.map of_int t.values in
  let op t x y = of_int (greater t (to_int x) (to_int y)) in
  let zero = of_int 0 in
  let compare t x y = compare (visit t (to_int x)) (visit t (to_int y)) in
  let sane t = { t with bad = [] } in
  [
    ( "fold",
      fun t ->
        let a = input t in
        agree (fun () -> A.fold (op t) zero a) (fun () -> Array.fold_left (op t) zero a) );
    ( "reduce",
      fun t ->
        let a = input t in
        let theirs () =
          if a = [||] then None
          else Some (Array.fold_left (op t) a.(0) (Array.sub a 1 (Array.length a - 1)))
        in
        agree (fun () -> A.reduce (op t) a) theirs );
    ( "scan",
      fun t ->
        let a = input t in
        agree (fun () -> A.scan (op t) a) (fun () -> prefixes (op t) a) );
    ( "min",
      fun t ->
        let a = input t and t = sane t in
        A.min (compare t) a = extreme (fun x y -> compare t x y < 0) a );
    ( "max",
      fun t ->
        let a = input t and t = sane t in
        A.max (compare t) a = extreme (fun x y -> compare t x y > 0) a );
    ( "count",
      fun t ->
        let a = input t in
        let p x = visit t (to_int x) land 1 = 0 in
        agree (fun () -> A.count p a) (fun () -> List.length (List.filter p (Array.to_list a))) );
  ]

let searches { of_int; to_int } =
  let input t = Array.map of_int t.values in
  (* What is looked for is there or not, left of a bad value or right of it. *)
  let is_wanted t x = visit t (to_int x) = Array.length t.values land largest in
  let other t x = not (is_wanted t x) in
  let wanted2 t x y = is_wanted t x && x == y in
  let found t x = if is_wanted t x then Some (to_int x) else None in
  let foundi t i x = if is_wanted t x then Some (i + to_int x) else None in
  let law ours theirs f t =
    let a = input t in
    agree (fun () -> ours (f t) a) (fun () -> theirs (f t) a)
  in
  [
    ("exists", law A.exists Array.exists is_wanted);
    ("for_all", law A.for_all Array.for_all other);
    ("find_opt", law A.find_opt Array.find_opt is_wanted);
    ("find_index", law A.find_index Array.find_index is_wanted);
    ("find_map", law A.find_map Array.find_map found);
    ("find_mapi", law A.find_mapi Array.find_mapi foundi);
    ( "exists2",
      fun t ->
        let a = input t in
        agree (fun () -> A.exists2 (wanted2 t) a a) (fun () -> Array.exists2 (wanted2 t) a a) );
    ( "for_all2",
      fun t ->
        let a = input t in
        let p x y = x == y && other t x in
        agree (fun () -> A.for_all2 p a a) (fun () -> Array.for_all2 p a a) );
    ( "mem",
      fun t ->
        let a = input t in
        List.for_all (fun i -> A.mem (of_int i) a = Array.mem (of_int i) a) [ 0; 7; 1000 ] );
    ( "memq",
      fun t ->
        let a = input t in
        let last = if a = [||] then of_int 1 else a.(Array.length a - 1) in
        A.memq last a = Array.memq last a && not (A.memq (ref 0) (Array.map ref t.values)) );
  ]

let selections { of_int; to_int } =
  let input t = Array.map of_int t.values in
  let p t x = visit t (to_int x) mod 3 = 0 in
  let half t x = if p t x then Some (of_int (to_int x / 2)) else None in
  let copies t x = Array.make (visit t (to_int x) mod 4) x in
  let list_law ours list f t =
    let a = input t in
    agree (fun () -> ours (f t) a) (fun () -> by_list (list (f t)) a)
  in
  [
    ("filter", list_law A.filter List.filter p);
    ("filter, all", list_law A.filter List.filter (fun t x -> p t x || true));
    ("filter, none", list_law A.filter List.filter (fun t x -> p t x && false));
    ("filter_map", list_law A.filter_map List.filter_map half);
    ( "concat_map",
      fun t ->
        let a = input t in
        agree
          (fun () -> A.concat_map (copies t) a)
          (fun () -> Array.concat (List.map (copies t) (Array.to_list a))) );
    ( "partition",
      fun t ->
        let a = input t in
        let theirs () =
          let l, r = List.partition (p t) (Array.to_list a) in
          (Array.of_list l, Array.of_list r)
        in
        agree (fun () -> A.partition (p t) a) theirs );
  ]

let orders { of_int; to_int } =
  let input t = Array.map of_int t.values in
  let sane t = { t with bad = [] } in
  let key t x = visit t (to_int x) mod 10 in
  let compare t x y = compare (key t x) (key t y) in
  let sorted sort t =
    let a = input t in
    sort (compare (sane t)) a;
    a
  in
  [
    ("sort", fun t -> sorted A.sort t = sorted Array.stable_sort t);
    ("stable_sort", fun t -> sorted A.stable_sort t = sorted Array.stable_sort t);
    ("fast_sort", fun t -> sorted A.fast_sort t = sorted Array.stable_sort t);
    ( "sort_uniq",
      fun t ->
        let stable = sorted Array.stable_sort t in
        let same x y = key (sane t) x = key (sane t) y in
        let keep x = function y :: rest when same x y -> x :: rest | rest -> x :: rest in
        let firsts = Array.of_list (Array.fold_right keep stable []) in
        A.sort_uniq (compare (sane t)) (input t) = firsts );
    ( "group_by",
      fun t ->
        let a = input t in
        agree (fun () -> A.group_by (key t) a) (fun () -> groups (key t) a) );
    ( "histogram",
      fun t ->
        let a = input t in
        agree (fun () -> A.histogram ~bins:10 (key t) a) (fun () -> histogram 10 (key t) a) );
  ]

let of_elements ?(count = 8) name elements =
  let laws =
    one_for_each elements @ reductions elements @ searches elements @ selections elements
    @ orders elements
  in
  (name, properties ~count laws)

(* Once and only once for each element *)

let calls_law ours t =
  let n = Array.length t.values in
  let calls = counters n in
  let call i =
    Atomic.incr calls.(i);
    ignore (visit t t.values.(i))
  in
  let result = outcome (fun () -> ours call n) in
  let first_bad =
    Option.map (fun i -> t.values.(i)) (Array.find_index (fun x -> List.mem x t.bad) t.values)
  in
  let at_most_once = Array.for_all (fun c -> Atomic.get c <= 1) calls in
  match first_bad with
  | None -> result = Ok () && Array.for_all (fun c -> Atomic.get c = 1) calls
  | Some x -> result = Error (Boom x) && at_most_once

let effects =
  [
    ("iter", calls_law (fun call n -> A.iter call (Array.init n Fun.id)));
    ( "iteri",
      calls_law (fun call n -> A.iteri (fun i x -> if i = x then call i) (Array.init n Fun.id)) );
    ( "iter2",
      calls_law (fun call n ->
          let a = Array.init n Fun.id in
          A.iter2 (fun i x -> if i = x then call i) a a) );
    ( "partition calls once",
      calls_law (fun call n ->
          ignore
            (A.partition
               (fun i ->
                 call i;
                 i land 1 = 0)
               (Array.init n Fun.id))) );
  ]

(* Long results are made by all workers, in memory that is no array yet (Fresh): collections of each kind in the midst of
   that, by another domain and by the workers, take and leave nothing. *)

let beside_collections () =
  let over = Atomic.make false in
  let collect i =
    match i mod 5 with
    | 0 -> Gc.minor ()
    | 1 -> Gc.full_major ()
    | 2 -> Gc.compact ()
    | 3 -> ignore (Gc.major_slice 0)
    | _ -> Gc.major ()
  in
  let rec go_on i =
    if not (Atomic.get over) then begin
      ignore (Sys.opaque_identity (List.init 1_000 string_of_int));
      collect i;
      go_on (i + 1)
    end
  in
  let collector = Domain.spawn (fun () -> go_on 0) in
  let kept = Array.make 4 [||] in
  let check time =
    let n = (1 lsl 16) + time in
    let text i = string_of_int (i + time) in
    let texts = A.init n text in
    let options = A.map Option.some texts and lengths = A.map String.length texts in
    let floats = A.map float_of_string texts and longest = A.scan max texts in
    let even = A.filter (fun s -> int_of_string s land 1 = 0) texts in
    kept.(time land 3) <- texts;
    let agrees i s =
      String.equal s (text i)
      && options.(i) = Some s
      && lengths.(i) = String.length s
      && Float.equal floats.(i) (float_of_int (i + time))
    in
    check_bool "init, map" true (Seq.for_all Fun.id (Seq.mapi agrees (Array.to_seq texts)));
    check_bool "scan" true (String.equal longest.(n - 1) (Array.fold_left max "" texts));
    check_int "filter" (n / 2) (Array.length even - if n land 1 = 1 && time land 1 = 0 then 1 else 0);
    Array.iter (Array.iter (fun s -> ignore (int_of_string s))) kept
  in
  Fun.protect
    ~finally:(fun () ->
      Atomic.set over true;
      Domain.join collector)
    (fun () -> run_on 3 (fun () -> List.iter check (List.init 8 Fun.id)))

let () =
  Alcotest.run "array"
    [
      of_elements ~count:25 "ints" ints;
      of_elements "floats" floats;
      of_elements "strings" strings;
      of_elements "mixed" mixed;
      of_elements "options" options;
      ("effects", properties effects);
      ("long", [ case "long arrays beside collections" beside_collections ]);
    ]
