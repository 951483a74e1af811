open Core_models
let run m = let t = Sys.time () in let n = Model.check m in Printf.printf "%-80s %8d orders %6.2f s shared %d\n%!" m.Model.name n (Sys.time () -. t) (Hashtbl.length Atomic.shared)
let all = function "region" -> Model_region.(quick @ slow) | "waiter" -> Model_waiter.(quick @ slow) | "fork" -> Model_fork.(quick @ slow) | "scope" -> Model_scope.(quick @ slow) | "staff" -> Model_staff.(quick @ slow) | _ -> assert false
let () = List.iteri (fun i m -> if i >= int_of_string Sys.argv.(2) && i <= int_of_string Sys.argv.(3) then try run m with Model.Violation _ -> ()) (all Sys.argv.(1))
