open Core_models
let run m = let t = Sys.time () in let n = Model.check m in Printf.printf "%-50s %8d orders %6.2f s shared %d\n%!" m.Model.name n (Sys.time () -. t) (Hashtbl.length Atomic.shared)
let () = List.iter (fun m -> try run m with Model.Violation _ -> ()) (Model_region.quick @ Model_region.slow)
