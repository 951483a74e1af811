open Stdlib.Bigarray.Array1

type ('a, 'b) view = ('a, 'b, Stdlib.Bigarray.c_layout) t

let getter : type a b. (a, b) view -> int -> a =
 fun a ->
  match kind a with
  | Float32 -> fun i -> unsafe_get a i
  | Float64 -> fun i -> unsafe_get a i
  | Int8_signed -> fun i -> unsafe_get a i
  | Int8_unsigned -> fun i -> unsafe_get a i
  | Int16_signed -> fun i -> unsafe_get a i
  | Int16_unsigned -> fun i -> unsafe_get a i
  | Int32 -> fun i -> unsafe_get a i
  | Int64 -> fun i -> unsafe_get a i
  | Int -> fun i -> unsafe_get a i
  | Nativeint -> fun i -> unsafe_get a i
  | Char -> fun i -> unsafe_get a i
  | _ -> fun i -> unsafe_get a i

let setter : type a b. (a, b) view -> int -> a -> unit =
 fun a ->
  match kind a with
  | Float32 -> fun i v -> unsafe_set a i v
  | Float64 -> fun i v -> unsafe_set a i v
  | Int8_signed -> fun i v -> unsafe_set a i v
  | Int8_unsigned -> fun i v -> unsafe_set a i v
  | Int16_signed -> fun i v -> unsafe_set a i v
  | Int16_unsigned -> fun i v -> unsafe_set a i v
  | Int32 -> fun i v -> unsafe_set a i v
  | Int64 -> fun i v -> unsafe_set a i v
  | Int -> fun i v -> unsafe_set a i v
  | Nativeint -> fun i v -> unsafe_set a i v
  | Char -> fun i v -> unsafe_set a i v
  | _ -> fun i v -> unsafe_set a i v
