(* muster.domainslib with as many workers as this machine has CPUs. *)

let () =
  Alcotest.run "Domainslib"
    [
      ("pools", Pools.cases);
      ("tasks", Tasks.cases);
      ("loops", Loops.cases);
      ("waiting", Waiting.suspending);
      ("idleness", Waiting.idle);
    ]
