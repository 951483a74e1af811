(* An array is cut into parts of one length, whatever its own: so a call of C is short enough for a
   collection that waits for it (10 us from memory), and the tree of sums depends on the length
   alone. *)

(* In the order of numeric_stubs.c. *)
type kind = Heap | Double | Single | Ints

(* [from count] is a part. *)

external sum_part : 'v -> kind -> int -> int -> (float[@unboxed])
  = "muster_sum_bytecode" "muster_sum"
[@@noalloc]

external dot_part : 'v -> 'w -> kind -> int -> int -> (float[@unboxed])
  = "muster_dot_bytecode" "muster_dot"
[@@noalloc]

external sum_ints_part : 'v -> int -> int -> int = "muster_sum_ints" [@@noalloc]
external sum_tagged_part : int array -> int -> int -> int = "muster_sum_tagged" [@@noalloc]
external dot_ints_part : 'v -> 'w -> int -> int -> int = "muster_dot_ints" [@@noalloc]

external extremes_part : 'v -> kind -> int -> int -> Float.Array.t -> unit = "muster_extremes"
[@@noalloc]

external extremes_of_ints_part : 'v -> int -> int -> int array -> unit = "muster_extremes_of_ints"
[@@noalloc]

let part = 8192

(* Of at least one element; the costs of an operation stand under the code of [me]. *)
let[@inline] over me n leaf combine =
  Fiber.check ();
  if n <= part then leaf 0 n
  else
    let leaf b = leaf (b * part) (Int.min part (n - (b * part))) in
    Reduce.over ~code:(Machine.code_of me) ~per_leaf:part ~last:((n - 1) / part) leaf combine

let rec sum kind v n = over sum n (fun from count -> sum_part v kind from count) ( +. )
let rec dot kind v w n = over dot n (fun from count -> dot_part v w kind from count) ( +. )
let rec sum_ints v n = over sum_ints n (fun from count -> sum_ints_part v from count) ( + )
let rec sum_tagged v n = over sum_tagged n (fun from count -> sum_tagged_part v from count) ( + )
let rec dot_ints v w n = over dot_ints n (fun from count -> dot_ints_part v w from count) ( + )
let mean kind v n = if n = 0 then None else Some (sum kind v n /. float_of_int n)

let rec some_extremes kind v n =
  let extremes from count =
    let out = Float.Array.create 2 in
    extremes_part v kind from count out;
    (Float.Array.get out 0, Float.Array.get out 1)
  in
  over some_extremes n extremes (fun (a, b) (c, d) -> (Float.min a c, Float.max b d))

let rec some_extremes_of_ints v n =
  let extremes from count =
    let out = [| 0; 0 |] in
    extremes_of_ints_part v from count out;
    (out.(0), out.(1))
  in
  over some_extremes_of_ints n extremes (fun (a, b) (c, d) -> (Int.min a c, Int.max b d))

let extremes kind v n = if n = 0 then None else Some (some_extremes kind v n)
let extremes_of_ints v n = if n = 0 then None else Some (some_extremes_of_ints v n)
