(* One program on one library, in a process of its own: the time of each run in ns, then the answer.
   The first run, which is not told, finds the pages of new heaps and starts domains. *)

module Ours = struct
  include Ours.Task

  let all = Ported_ours.all
end

let ours : (module Library.S) = (module Ours)

let library = function
  | "ours" -> ours
  | "theirs" -> Option.get Theirs.library
  | other -> invalid_arg other

let run library_name name ~num_domains ~runs ~quick =
  let (module L : Library.S) = library library_name in
  let is_it program = Program.name program = name in
  let (Program { prepare; run; digest; _ }) = List.find is_it (L.all ~quick) in
  let pool = L.setup_pool ~num_domains () in
  let once () =
    let state = prepare () in
    Gc.full_major ();
    let ns = Clock.time (fun () -> L.run pool (fun () -> run pool state)) in
    (ns, digest state)
  in
  let _, answer = once () in
  for _ = 1 to runs do
    let ns, again = once () in
    if again <> answer then failwith "another answer than before";
    Printf.printf "%.0f\n" ns
  done;
  print_endline answer
