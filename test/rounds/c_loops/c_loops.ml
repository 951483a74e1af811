type cells = (int, Bigarray.int_elt, Bigarray.c_layout) Bigarray.Array1.t

external slices : cells -> long:bool -> int = "c_loops_slices"
external indices : cells -> long:bool -> int = "c_loops_indices"
external workers : unit -> int = "c_loops_workers"

let cells n = Bigarray.Array1.init Bigarray.int Bigarray.c_layout n (fun _ -> 0)
