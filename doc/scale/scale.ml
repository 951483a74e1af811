type vector = (float, Bigarray.float64_elt, Bigarray.c_layout) Bigarray.Array1.t

external scale : vector -> float -> unit = "scale"

let () =
  let v = Bigarray.Array1.init Float64 C_layout 1_000_000 float in
  scale v 0.5;
  Printf.printf "%g\n" v.{999_998}
