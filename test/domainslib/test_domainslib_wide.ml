(* The same with more workers than most machines have CPUs. *)

let settings = [| "MUSTER_DOMAINS=4"; "MUSTER_GOVERNOR=off" |]
let wide = Sys.getenv_opt "MUSTER_DOMAINS" = Some "4"

(* Muster looks at its environment when a program starts. *)
let start_again () =
  let others = Array.to_list (Unix.environment ()) in
  let is_other it = not (String.starts_with ~prefix:"MUSTER_" it) in
  let environment = Array.append settings (Array.of_list (List.filter is_other others)) in
  Unix.execve Sys.executable_name Sys.argv environment

let () =
  if not wide then start_again ();
  Alcotest.run "Domainslib on 4 workers"
    [
      ("pools", Pools.cases);
      ("tasks", Tasks.cases);
      ("loops", Loops.cases);
      ("sharing", Loops.sharing @ [ Loops.all_begin_at_once 4 ]);
      ("waiting", Waiting.suspending);
      ("keeping the worker", Waiting.keeping 1 @ Waiting.keeping 3);
    ]
