(* A counter that tasks change, and nothing protects. They wait in between. *)

let total = ref 0

let count () =
  for _ = 1 to 1_000 do
    incr total;
    Muster.Task.yield ()
  done

let () =
  Muster.Pool.with_ ~domains:2 ~oversubscribe:true @@ fun _ ->
  let tasks = List.init 4 (fun _ -> Muster.Task.async count) in
  List.iter Muster.Task.await tasks;
  Printf.printf "at most 4000: %b\n" (!total <= 4_000)
