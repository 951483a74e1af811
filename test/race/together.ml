(* Two tasks that begin together, each on a worker of its own: neither goes on before both are there. *)

let two work =
  let arrived = Atomic.make 0 in
  let task () =
    Atomic.incr arrived;
    while Atomic.get arrived < 2 do
      Domain.cpu_relax ()
    done;
    work ()
  in
  Muster.Pool.with_ ~domains:2 ~oversubscribe:true @@ fun _ ->
  ignore (Muster.both task task)
