open Cmdliner

let run as_json =
  let facts = Facts.gather () in
  if as_json then print_endline (Yojson.Basic.pretty_to_string (Json.of_facts facts))
  else print_string (Text.of_facts facts);
  Cmd.Exit.ok

let man =
  [
    `S Manpage.s_description;
    `P
      "$(iname) reports the CPUs that this process may use, by the affinity mask and by the quotas \
       of its cgroups, each with the file that says so; the OCaml that it is built with, and its \
       settings. It says how many workers the default pool runs here and why, starts that pool to \
       see whether it is so, and warns of what makes programs slower.";
    `P
      "It also says what a pool can see of the machine's other work, how many CPUs it would use \
       beside it now, what becomes of minor heaps and of idle workers, and what the pool decided \
       during a short trial, each with the reason. Muster.Pool.stats tells a program the same of \
       its own pools, and with MUSTER_STATS=1 any program prints it at its end.";
    `P "It changes nothing, and exits with 0 whether or not it warns.";
  ]

let envs =
  [
    Cmd.Env.info "MUSTER_DOMAINS" ~doc:"The default pool's workers: a number from 1.";
    Cmd.Env.info "MUSTER_GOVERNOR"
      ~doc:"$(b,off): pools use their CPUs whatever other programs run.";
    Cmd.Env.info "OCAMLRUNPARAM"
      ~doc:"OCaml's settings: $(b,s=) words of minor heap, $(b,d=) domains.";
  ]

let command =
  let doc = "show what a pool finds on this machine, and what it makes of it" in
  let as_json = Arg.(value & flag & info [ "json" ] ~doc:"Print all of it as one JSON object.") in
  Cmd.v (Cmd.info "doctor" ~doc ~man ~envs) Term.(const run $ as_json)
