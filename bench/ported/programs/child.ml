(* child.exe: the names of the programs, and which are fine-grained.
   child.exe PROGRAM NUM-DOMAINS RUNS [quick]: the time of each run in ns, then the answer. The
   first run, which is not told, finds the pages of new heaps and starts domains. *)

open Domainslib

let measure (Ported.Program { prepare; run; digest; _ }) pool ~runs =
  let once () =
    let state = prepare () in
    Gc.full_major ();
    let ns = Clock.time (fun () -> Task.run pool (fun () -> run pool state)) in
    (ns, digest state)
  in
  let _, answer = once () in
  for _ = 1 to runs do
    let ns, again = once () in
    if again <> answer then failwith "another answer than before";
    Printf.printf "%.0f\n" ns
  done;
  print_endline answer

let list () =
  let line program =
    Printf.printf "%s %b\n" (Ported.name program) (Ported.is_fine program)
  in
  List.iter line (Ported.all ~quick:true)

let run arguments =
  let quick = Array.length arguments > 4 in
  let wanted program = Ported.name program = arguments.(1) in
  let program = List.find wanted (Ported.all ~quick) in
  let num_domains = int_of_string arguments.(2) and runs = int_of_string arguments.(3) in
  let pool = Task.setup_pool ~num_domains () in
  measure program pool ~runs;
  Task.teardown_pool pool

let () = if Array.length Sys.argv = 1 then list () else run Sys.argv
