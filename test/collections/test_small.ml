(* Every function of every collection, of few elements: the answer of the stdlib's lists. Here all
   the short ways are gone that other tests, of many elements, pass by. *)

open Harness

exception Boom of int

module type Collection = sig
  type elt
  type t

  val name : string
  val elt : int -> elt
  val int : elt -> int
  val of_list : elt list -> t
  val to_list : t -> elt list
  val map : (elt -> elt) -> t -> t
  val mapi : (int -> elt -> elt) -> t -> t
  val map2 : (elt -> elt -> elt) -> t -> t -> t
  val map_to_array : (elt -> int) -> t -> int array
  val iter : (elt -> unit) -> t -> unit
  val iteri : (int -> elt -> unit) -> t -> unit
  val fold : (elt -> elt -> elt) -> elt -> t -> elt
  val reduce : (elt -> elt -> elt) -> t -> elt option
  val scan : (elt -> elt -> elt) -> t -> t
  val min : (elt -> elt -> int) -> t -> elt option
  val max : (elt -> elt -> int) -> t -> elt option
  val count : (elt -> bool) -> t -> int
  val exists : (elt -> bool) -> t -> bool
  val for_all : (elt -> bool) -> t -> bool
  val mem : elt -> t -> bool
  val find_opt : (elt -> bool) -> t -> elt option
  val find_index : (elt -> bool) -> t -> int option
  val filter : (elt -> bool) -> t -> t
  val partition : (elt -> bool) -> t -> t * t
  val filter_map : (elt -> elt option) -> t -> t
  val sort_uniq : (elt -> elt -> int) -> t -> t
  val group_by : (elt -> int) -> t -> (int * t) array
  val histogram : bins:int -> (elt -> int) -> t -> int array
end

let lengths = [ 0; 1; 2; 3; 7; 40 ]
let values n = List.init n (fun i -> i * 37 mod 11)

(* {2 What the answers are} *)

let prefixes op = function
  | [] -> []
  | x :: l -> List.rev (List.fold_left (fun acc x -> op (List.hd acc) x :: acc) [ x ] l)

let best better = function
  | [] -> None
  | x :: l -> Some (List.fold_left (fun m x -> if better x m then x else m) x l)

let groups key l =
  let keys = List.fold_left (fun ks x -> if List.mem (key x) ks then ks else key x :: ks) [] l in
  List.rev_map (fun k -> (k, List.filter (fun x -> key x = k) l)) keys

let tally bins f l = Array.init bins (fun bin -> List.length (List.filter (fun x -> f x = bin) l))

(* {2 The same functions of each} *)

module Check (C : Collection) = struct
  (* As a function of numbers, and back: the elements are numbers from 0 to 10. *)
  let under f x = C.elt (f (C.int x))
  let op x y = C.elt (Int.max (C.int x) (C.int y))
  let order x y = Int.compare (C.int x) (C.int y)
  let ints c = List.map C.int (C.to_list c)

  let same n what expected got =
    check_equal (Printf.sprintf "%s.%s of %d" C.name what n) expected got

  let maps n l c =
    let same what expected got = same n what expected (ints got) in
    same "map" (List.map succ l) (C.map (under succ) c);
    same "mapi"
      (List.mapi (fun i x -> (i + x) mod 11) l)
      (C.mapi (fun i x -> under (fun x -> (i + x) mod 11) x) c);
    same "map2" l (C.map2 op c c);
    same "scan" (prefixes Int.max l) (C.scan op c);
    check_equal "map_to_array" (Array.of_list l) (C.map_to_array C.int c)

  let effects n l c =
    let seen = Array.make n (-1) in
    C.iteri (fun i x -> seen.(i) <- C.int x) c;
    same n "iteri" l (Array.to_list seen);
    let total = Atomic.make 0 in
    C.iter (fun x -> ignore (Atomic.fetch_and_add total (C.int x))) c;
    same n "iter" (List.fold_left ( + ) 0 l) (Atomic.get total)

  (* The initial value is the leftmost operand: where it makes the operation raise, that comes first. *)
  let begins_fold n c =
    let op x y =
      if C.int x = 12 then raise (Boom 0) else if C.int y = 4 then raise (Boom 1) else op x y
    in
    let raises = match C.fold op (C.elt 12) c with _ -> -1 | exception Boom i -> i in
    same n "fold, raising" (if n = 0 then -1 else 0) raises

  let reductions n l c =
    let option = Option.map C.int in
    begins_fold n c;
    same n "fold" (List.fold_left Int.max 3 l) (C.int (C.fold op (C.elt 3) c));
    same n "reduce" (best ( > ) l) (option (C.reduce op c));
    same n "min" (best ( < ) l) (option (C.min order c));
    same n "max" (best ( > ) l) (option (C.max order c));
    same n "histogram" (tally 11 Fun.id l) (C.histogram ~bins:11 C.int c)

  let searches n l c v =
    let is x = C.int x = v in
    same n "count" (List.length (List.filter (( = ) v) l)) (C.count is c);
    same n "exists" (List.mem v l) (C.exists is c);
    same n "for_all" (List.for_all (( = ) v) l) (C.for_all is c);
    same n "mem" (List.mem v l) (C.mem (C.elt v) c);
    same n "find_opt" (List.find_opt (( = ) v) l) (Option.map C.int (C.find_opt is c));
    same n "find_index" (List.find_index (( = ) v) l) (C.find_index is c)

  let choices n l c v =
    let p x = x > v in
    let is x = p (C.int x) in
    let some x = if p x then Some (x + 1) else None in
    same n "filter" (List.filter p l) (ints (C.filter is c));
    let chosen, others = C.partition is c in
    same n "partition" (List.partition p l) (ints chosen, ints others);
    same n "filter_map" (List.filter_map some l)
      (ints (C.filter_map (fun x -> Option.map C.elt (some (C.int x))) c));
    same n "sort_uniq" (List.sort_uniq Int.compare l) (ints (C.sort_uniq order c));
    let grouped = C.group_by (fun x -> C.int x mod 3) c in
    same n "group_by"
      (groups (fun x -> x mod 3) l)
      (Array.to_list (Array.map (fun (k, c) -> (k, ints c)) grouped))

  let of_length n =
    let l = values n in
    let c = C.of_list (List.map C.elt l) in
    maps n l c;
    effects n l c;
    reductions n l c;
    List.iter (searches n l c) [ 0; 4; 12 ];
    List.iter (choices n l c) [ -1; 4; 12 ]

  let case = case C.name (fun () -> run_on 2 (fun () -> List.iter of_length lengths))
end

(* {2 The collections} *)

module Ints = struct
  type elt = int

  let elt = Fun.id
  let int = Fun.id
end

module Of_array = struct
  include Ints
  include Muster.Parallel.Array

  type t = int array

  let name = "Array"
  let map_to_array = map
end

module Of_list = struct
  include Ints
  include Muster.Parallel.List

  type t = int list

  let name = "List"
  let of_list = Fun.id
  let to_list = Fun.id
  let map_to_array f l = Array.of_list (map f l)
  let group_by key l = Array.of_list (group_by key l)
end

module Of_floats = struct
  include Muster.Parallel.Floatarray

  type elt = float

  let name = "Floatarray"
  let elt = float_of_int
  let int = int_of_float
end

module type Kind = sig
  type elt
  type repr

  val name : string
  val kind : (elt, repr) Bigarray.kind
  val elt : int -> elt
  val int : elt -> int
end

module Of_kind (K : Kind) = struct
  include Muster.Parallel.Bigarray.Array1
  include K

  type t = (elt, repr, Bigarray.c_layout) Muster.Parallel.Bigarray.Array1.t

  let of_list l : t = of_array kind C_layout (Array.of_list l)
  let to_list (a : t) = List.init (dim a) (get a)
end

let of_kind (type e r) name (kind : (e, r) Bigarray.kind) elt int =
  let module K = struct
    type elt = e
    type repr = r

    let name = "Bigarray of " ^ name
    let kind = kind
    let elt = elt
    let int = int
  end in
  let module Checked = Check (Of_kind (K)) in
  Checked.case

let bigarrays =
  let complex x = Complex.{ re = float_of_int x; im = 1. } in
  let real (c : Complex.t) = int_of_float c.re in
  let open Bigarray in
  [
    of_kind "float32" Float32 float_of_int int_of_float;
    of_kind "float64" Float64 float_of_int int_of_float;
    of_kind "int8_signed" Int8_signed Fun.id Fun.id;
    of_kind "int8_unsigned" Int8_unsigned Fun.id Fun.id;
    of_kind "int16_signed" Int16_signed Fun.id Fun.id;
    of_kind "int16_unsigned" Int16_unsigned Fun.id Fun.id;
    of_kind "int32" Int32 Int32.of_int Int32.to_int;
    of_kind "int64" Int64 Int64.of_int Int64.to_int;
    of_kind "int" Int Fun.id Fun.id;
    of_kind "nativeint" Nativeint Nativeint.of_int Nativeint.to_int;
    of_kind "char" Char Char.chr Char.code;
    of_kind "complex32" Complex32 complex real;
    of_kind "complex64" Complex64 complex real;
  ]

module Arrays = Check (Of_array)
module Lists = Check (Of_list)
module Floats = Check (Of_floats)

let () =
  Alcotest.run "small collections"
    [
      ("all", [ Arrays.case; Lists.case; Floats.case ]);
      ("bigarrays", bigarrays);
      ("own", Small_own.cases);
    ]
