(* Floatarray and Bigarray.Array1 against the stdlib's arrays of the same elements,
   which every result is turned into. *)

open Harness
open Collection_inputs.Inputs

(** What the two have in common: a collection of elements that stand for numbers up to 255. *)
module type Flat = sig
  type elt
  type t

  val name : string
  val of_int : int -> elt
  val to_int : elt -> int
  val of_array : elt array -> t
  val to_array : t -> elt array
  val init : int -> (int -> elt) -> t
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
  val concat_map : (elt -> t) -> t -> t
  val sort_uniq : (elt -> elt -> int) -> t -> t
  val group_by : (elt -> int) -> t -> (int * t) array
  val histogram : bins:int -> (elt -> int) -> t -> int array
end

(* The index of the first element. *)
module Laws
    (F : Flat)
    (First : sig
      val index : int
    end) =
struct
  let from = First.index
  let input t = Array.map F.of_int t.values
  let is_even t x = visit t (F.to_int x) land 1 = 0
  let step t x = F.of_int ((visit t (F.to_int x) + 1) land 127)
  let stepi t i x = F.of_int ((i + visit t (F.to_int x)) land 127)
  let both t x y = F.of_int ((visit t (F.to_int x) + (3 * visit t (F.to_int y))) land 127)
  let op t x y = F.of_int (greater t (F.to_int x) (F.to_int y))
  let compare t x y = Int.compare (visit t (F.to_int x) / 10) (visit t (F.to_int y) / 10)
  let half t x = if is_even t x then Some (F.of_int (F.to_int x / 2)) else None
  let sane t = { t with bad = [] }

  (* [ours] on the collection and [theirs] on the array come to the same. *)
  let law ours theirs t =
    let a = input t in
    let c = F.of_array a in
    agree (fun () -> ours t c) (fun () -> theirs t a)

  let list f a = Array.of_list (f (Array.to_list a))
  let tail a = Array.sub a 1 (Array.length a - 1)
  let shift i = i + from

  let maps =
    [
      ( "init",
        law
          (fun t c ->
            let a = F.to_array c in
            F.to_array (F.init (Array.length a) (fun i -> stepi t i a.(i - from))))
          (fun t -> Array.mapi (fun i x -> stepi t (shift i) x)) );
      ("map", law (fun t c -> F.to_array (F.map (step t) c)) (fun t -> Array.map (step t)));
      ( "mapi",
        law
          (fun t c -> F.to_array (F.mapi (stepi t) c))
          (fun t -> Array.mapi (fun i x -> stepi t (shift i) x)) );
      ( "map2",
        law
          (fun t c -> F.to_array (F.map2 (both t) c (F.map (fun x -> x) c)))
          (fun t a -> Array.map2 (both t) a a) );
      ( "map_to_array",
        law
          (fun t -> F.map_to_array (fun x -> visit t (F.to_int x)))
          (fun t -> Array.map (fun x -> visit t (F.to_int x))) );
    ]

  let reductions =
    let zero = F.of_int 0 in
    [
      ("fold", law (fun t -> F.fold (op t) zero) (fun t -> Array.fold_left (op t) zero));
      ( "reduce",
        law
          (fun t -> F.reduce (op t))
          (fun t a -> if a = [||] then None else Some (Array.fold_left (op t) a.(0) (tail a))) );
      ("scan", law (fun t c -> F.to_array (F.scan (op t) c)) (fun t -> prefixes (op t)));
      ( "min",
        law
          (fun t -> F.min (compare (sane t)))
          (fun t -> extreme (fun x y -> compare (sane t) x y < 0)) );
      ( "max",
        law
          (fun t -> F.max (compare (sane t)))
          (fun t -> extreme (fun x y -> compare (sane t) x y > 0)) );
      ( "count",
        law
          (fun t -> F.count (is_even t))
          (fun t a -> Array.length (list (List.filter (is_even t)) a)) );
    ]

  let searches =
    let is_wanted t x = visit t (F.to_int x) = 1 + (Array.length t.values land 127) in
    let other t x = not (is_wanted t x) in
    [
      ("exists", law (fun t -> F.exists (is_wanted t)) (fun t -> Array.exists (is_wanted t)));
      ("for_all", law (fun t -> F.for_all (other t)) (fun t -> Array.for_all (other t)));
      ("mem", law (fun _ -> F.mem (F.of_int 7)) (fun _ -> Array.mem (F.of_int 7)));
      ("find_opt", law (fun t -> F.find_opt (is_wanted t)) (fun t -> Array.find_opt (is_wanted t)));
      ( "find_index",
        law
          (fun t -> F.find_index (is_wanted t))
          (fun t a -> Option.map shift (Array.find_index (is_wanted t) a)) );
    ]

  let selections =
    [
      ( "filter",
        law
          (fun t c -> F.to_array (F.filter (is_even t) c))
          (fun t -> list (List.filter (is_even t))) );
      ( "partition",
        law
          (fun t c ->
            let l, r = F.partition (is_even t) c in
            (F.to_array l, F.to_array r))
          (fun t a ->
            let l, r = List.partition (is_even t) (Array.to_list a) in
            (Array.of_list l, Array.of_list r)) );
      ( "filter_map",
        law
          (fun t c -> F.to_array (F.filter_map (half t) c))
          (fun t -> list (List.filter_map (half t))) );
      ( "concat_map",
        let copies t x = Array.make (visit t (F.to_int x) mod 4) x in
        law
          (fun t c -> F.to_array (F.concat_map (fun x -> F.of_array (copies t x)) c))
          (fun t a -> Array.concat (List.map (copies t) (Array.to_list a))) );
      ( "sort_uniq",
        law
          (fun t c -> F.to_array (F.sort_uniq Stdlib.compare (F.map (step (sane t)) c)))
          (fun t a -> list (List.sort_uniq Stdlib.compare) (Array.map (step (sane t)) a)) );
      ( "group_by",
        let key t x = visit t (F.to_int x) mod 7 in
        law
          (fun t c -> Array.map (fun (k, c) -> (k, F.to_array c)) (F.group_by (key t) c))
          (fun t -> groups (key t)) );
      ( "histogram",
        let bin t x = visit t (F.to_int x) mod 7 in
        law (fun t -> F.histogram ~bins:7 (bin t)) (fun t -> histogram 7 (bin t)) );
    ]

  (* Each element once, or the leftmost exception. *)
  let called_once iter t =
    let a = input t in
    let calls = counters (Array.length a) in
    let call i x =
      Atomic.incr calls.(i - from);
      ignore (visit t (F.to_int x))
    in
    match outcome (fun () -> iter call (F.of_array a)) with
    | Ok () ->
      Array.for_all (fun c -> Atomic.get c = 1) calls
      && not (Array.exists (fun v -> List.mem v t.bad) t.values)
    | Error e ->
      Some e = Option.map (fun v -> Boom v) (Array.find_opt (fun v -> List.mem v t.bad) t.values)

  let sum_iter t =
    let total = Atomic.make 0 in
    let add x = ignore (Atomic.fetch_and_add total (visit (sane t) (F.to_int x))) in
    F.iter add (F.of_array (input t));
    Atomic.get total = Array.fold_left ( + ) 0 t.values

  let effects = [ ("iteri", called_once F.iteri); ("iter", sum_iter) ]
  let tests = (F.name, properties ~count:10 (maps @ reductions @ searches @ selections @ effects))
end

module From_0 = struct
  let index = 0
end

module From_1 = struct
  let index = 1
end

module Floats =
  Laws
    (struct
      include Muster.Parallel.Floatarray

      type elt = float

      let name = "floatarray"
      let of_int = float_of_int
      let to_int = int_of_float
      let of_array a = map_from_array Fun.id a
      let to_array t = map_to_array Fun.id t
    end)
    (From_0)

(** A bigarray of some kind and layout. *)
module type Kind = sig
  type elt
  type repr
  type layout

  val name : string
  val kind : (elt, repr) Bigarray.kind
  val layout : layout Bigarray.layout
  val of_int : int -> elt
  val to_int : elt -> int
end

module Of_kind (K : Kind) = struct
  include Muster.Parallel.Bigarray.Array1
  include K

  type t = (elt, repr, layout) Bigarray.Array1.t

  let init n f = init kind layout n f
  let of_array (a : elt array) : t = of_array kind layout a
  let to_array (c : t) = Array.init (dim c) (fun i -> unsafe_get (change_layout c C_layout) i)
end

module Doubles =
  Laws
    (Of_kind (struct
      type elt = float
      type repr = Bigarray.float64_elt
      type layout = Bigarray.c_layout

      let name = "bigarray, float64"
      let kind = Bigarray.float64
      let layout = Bigarray.c_layout
      let of_int = float_of_int
      let to_int = int_of_float
    end))
    (From_0)

module Small =
  Laws
    (Of_kind (struct
      type elt = int
      type repr = Bigarray.int8_unsigned_elt
      type layout = Bigarray.fortran_layout

      let name = "bigarray, int8, from 1"
      let kind = Bigarray.int8_unsigned
      let layout = Bigarray.fortran_layout
      let of_int = Fun.id
      let to_int = Fun.id
    end))
    (From_1)

module Complexes =
  Laws
    (Of_kind (struct
      type elt = Complex.t
      type repr = Bigarray.complex32_elt
      type layout = Bigarray.fortran_layout

      let name = "bigarray, complex32, from 1"
      let kind = Bigarray.complex32
      let layout = Bigarray.fortran_layout
      let of_int i = { Complex.re = float_of_int i; im = 1. }
      let to_int (c : Complex.t) = int_of_float c.re
    end))
    (From_1)

let () =
  Alcotest.run "flat arrays"
    [ Floats.tests; Doubles.tests; Small.tests; Complexes.tests ]
