(* Where the copied files look for the core. *)

module Waiter = Waiter

module Task = struct
  let check = ignore
end
