(** The OCaml side of [muster.h]: C calls the functions that this module registers. *)
