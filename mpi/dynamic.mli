(** Jobs of uneven length. Muster_mpi says what the call does. *)

val parallel_map_dynamic : ?checkpoint:string -> ('a -> 'b) -> 'a array -> 'b array
