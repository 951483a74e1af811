let main ~ranks ~local =
  if Array.mem "--local" Sys.argv then print_endline (local ())
  else
    Muster_mpi.run (fun () ->
        let answer = ranks () in
        if Muster_mpi.rank () = 0 then print_endline answer)
