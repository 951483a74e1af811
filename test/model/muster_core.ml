(* Where the copied files look for the core. *)

module Waiter = Waiter
