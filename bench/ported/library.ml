(* What the measuring needs of either library. *)

module type S = sig
  type pool

  val setup_pool : ?name:string -> num_domains:int -> unit -> pool
  val run : pool -> (unit -> 'a) -> 'a
  val all : quick:bool -> pool Program.t list
end
