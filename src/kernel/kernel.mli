(** What is behind [muster.h]: C calls the functions that this module registers. *)
