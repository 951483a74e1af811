(* Folds to another type, of each kind of collection, against the list's [fold_left]. *)

open Harness
open Laws

module type Folds = sig
  type t

  val name : string
  val of_list : int list -> t

  val fold_parts :
    init:(unit -> 'b) -> add:('b -> int -> 'b) -> combine:('b -> 'b -> 'b) -> t -> 'b

  val map_reduce : combine:('b -> 'b -> 'b) -> init:'b -> (int -> 'b) -> t -> 'b
end

module Of_array = struct
  include Muster.Parallel.Array

  type t = int array

  let name = "array"
end

module Of_list = struct
  include Muster.Parallel.List

  type t = int list

  let name = "list"
  let of_list = Fun.id
end

module Of_seq = struct
  include Muster.Parallel.Seq

  type t = int Seq.t

  let name = "seq"
  let of_list = List.to_seq
end

module Of_floatarray = struct
  module F = Muster.Parallel.Floatarray

  type t = F.t

  let name = "floatarray"
  let of_list l = F.map_from_array float_of_int (Array.of_list l)

  let fold_parts ~init ~add ~combine a =
    F.fold_parts ~init ~add:(fun acc x -> add acc (int_of_float x)) ~combine a

  let map_reduce ~combine ~init f a = F.map_reduce ~combine ~init (fun x -> f (int_of_float x)) a
end

module Of_bigarray = struct
  include Muster.Parallel.Bigarray.Array1

  type t = (int, Bigarray.int_elt, Bigarray.fortran_layout) Bigarray.Array1.t

  let name = "bigarray"
  let of_list l = of_array Int Fortran_layout (Array.of_list l)
end

let all : (module Folds) list =
  [
    (module Of_array);
    (module Of_list);
    (module Of_seq);
    (module Of_floatarray);
    (module Of_bigarray);
  ]

let each f () = List.iter f all

(* {2 Laws} *)

(* Not commutative; [init] is not neutral. *)
let affine (a, b) (c, d) = (a * c land 0xffff, ((b * c) + d) land 0xffff)
let some_map c x =
  body c x;
  ((2 * x) + 1, x)

(* An accumulator that one call at a time may have. *)
type accumulator = { mutable in_use : bool; text : Buffer.t }

let alone acc f =
  if acc.in_use then failf "an accumulator in two calls";
  acc.in_use <- true;
  f ();
  acc.in_use <- false;
  acc

let fresh () = { in_use = false; text = Buffer.create 16 }

let add c acc x =
  body c x;
  alone acc (fun () -> Printf.bprintf acc.text "%d " x)

let join acc other =
  ignore (alone other ignore);
  alone acc (fun () -> Buffer.add_buffer acc.text other.text)

let in_two_types c (acc : int list) x =
  body c x;
  x :: acc

let laws (module F : Folds) =
  [
    Law
      ( F.name ^ ", fold_parts",
        (fun c ->
          let acc =
            F.fold_parts ~init:fresh ~add:(add c) ~combine:join (F.of_list c.elements)
          in
          Buffer.contents acc.text),
        fun c ->
          String.concat ""
            (List.map
               (fun x ->
                 body c x;
                 string_of_int x ^ " ")
               c.elements) );
    Law
      ( F.name ^ ", fold_parts to lists",
        (fun c ->
          F.fold_parts
            ~init:(fun () -> [])
            ~add:(in_two_types c)
            ~combine:(fun left right -> right @ left)
            (F.of_list c.elements)),
        fun c -> List.fold_left (in_two_types c) [] c.elements );
    Law
      ( F.name ^ ", map_reduce",
        (fun c -> F.map_reduce ~combine:affine ~init:(3, 7) (some_map c) (F.of_list c.elements)),
        fun c ->
          List.fold_left (fun acc x -> affine acc (some_map c x)) (3, 7) c.elements );
  ]

(* {2 Parts} *)

let count_parts (module F : Folds) n =
  let made = Atomic.make 0 in
  let init () =
    Atomic.incr made;
    ref 0
  in
  let add sum x =
    sum := !sum + x;
    sum
  and combine a b =
    a := !a + !b;
    a
  in
  let sum = F.fold_parts ~init ~add ~combine (F.of_list (List.init n Fun.id)) in
  check_int (F.name ^ ", sum") (n * (n - 1) / 2) !sum;
  Atomic.get made

let parts =
  each @@ fun (module F : Folds) ->
  let counts () = List.map (count_parts (module F)) [ 0; 1; 32; 33; 1_000; 2_048; 2_049; 100_000 ] in
  let here = counts () in
  if F.name <> "seq" then List.iter (fun n -> check_bool F.name true (n >= 1 && n <= 32)) here;
  check_equal (F.name ^ ", one for few") [ 1; 1; 1 ] (List.filteri (fun i _ -> i < 3) here);
  List.iter (fun domains -> check_equal F.name here (run_on domains counts)) [ 1; 2; 3; 8 ]

(* {2 Bits} *)

let bits = Int64.bits_of_float

let same_bits =
  each @@ fun (module F : Folds) ->
  let check n =
    let a = F.of_list (List.init n (fun i -> i * 7919 mod 1009)) in
    let value x = 1. /. float_of_int (x + 1) in
    let slow x =
      spin 100;
      value x
    in
    let sums f () =
      let parts =
        F.fold_parts ~init:(fun () -> 0.) ~add:(fun s x -> s +. f x) ~combine:( +. ) a
      in
      (bits parts, bits (F.map_reduce ~combine:( +. ) ~init:1. f a))
    in
    let here = sums value () in
    List.iter
      (fun domains ->
        let what = Printf.sprintf "%s of %d on %d" F.name n domains in
        check_equal what here (run_on domains (sums value));
        check_equal (what ^ ", slow") here (run_on domains (sums slow)))
      [ 1; 2; 3; 8 ]
  in
  List.iter check [ 0; 1; 2; 31; 33; 100; 513; 5_001; 20_000 ]

(* {2 Exceptions and cancellation} *)

let raising =
  each @@ fun (module F : Folds) ->
  let a = F.of_list (List.init 2_000 Fun.id) in
  let parts ?(init = ignore) ?(combine = fun () () -> ()) () =
    F.fold_parts ~init ~add:(fun () _ -> ()) ~combine a
  in
  check_raises (F.name ^ ", init") Exit (parts ~init:(fun () -> raise Exit));
  check_raises (F.name ^ ", combine") Exit (parts ~combine:(fun () () -> raise Exit));
  check_raises (F.name ^ ", combine of values") Exit (fun () ->
      F.map_reduce ~combine:(fun _ x -> if x = 77 then raise Exit else x) ~init:0 Fun.id a);
  check_raises (F.name ^ ", combine with init") (Boom 0) (fun () ->
      F.map_reduce
        ~combine:(fun acc x -> if acc = -1 then raise (Boom x) else x)
        ~init:(-1)
        (fun x -> if x > 0 then raise Exit else x)
        a)

let run_on_two =
  each @@ fun (module F : Folds) ->
  (* The first parts are the caller's, and tell that the others last. *)
  let a = F.of_list (List.init 4_000 Fun.id) in
  let last meet x =
    spin 5_000;
    if x > 1_000 then meet ()
  in
  takes_two_domains (F.name ^ ", fold_parts") (fun meet ->
      F.fold_parts ~init:ignore ~add:(fun () x -> last meet x) ~combine:(fun () () -> ()) a);
  takes_two_domains (F.name ^ ", map_reduce") (fun meet ->
      F.map_reduce ~init:() (last meet) ~combine:(fun () () -> ()) a)

(* A few that are jobs of their own: of these three, which call the very function that is dear. *)
let few_at_once =
  each @@ fun (module F : Folds) ->
  if List.mem F.name [ "array"; "list"; "bigarray" ] && not flipped then
    with_domains 8 @@ fun pool ->
    begin_at_once F.name ~workers:8 (fun f ->
        Muster.Pool.run pool (fun () ->
            F.map_reduce ~init:() f ~combine:(fun () () -> ()) (F.of_list (List.init 8 Fun.id))))

let cancelled =
  each @@ fun (module F : Folds) ->
  let n = 200_000 in
  let a = F.of_list (List.init n Fun.id) in
  ends_when_cancelled (F.name ^ ", fold_parts") ~most:n (fun tick ->
      F.fold_parts ~init:ignore ~add:(fun () _ -> tick ()) ~combine:(fun () () -> ()) a);
  ends_when_cancelled (F.name ^ ", map_reduce") ~most:n (fun tick ->
      F.map_reduce ~init:() (fun _ -> tick ()) ~combine:(fun () () -> ()) a)

let () =
  Alcotest.run "folds"
    [
      ("as fold_left", List.concat_map (fun it -> properties ~count:15 "folds" (laws it)) all);
      ( "parts and values",
        [
          case "parts depend on the length alone" parts;
          case "the same bits on 1, 2, 3 and 8 domains" same_bits;
          case "exceptions" raising;
          case "several domains" run_on_two;
          case "a few values at once" few_at_once;
          case "cancellation" cancelled;
        ] );
    ]
