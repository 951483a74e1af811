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
       of its cgroups, each quota with its file. It reports the version of OCaml and its settings. \
       It says how many workers the default pool has here and why, starts that pool to check this, \
       and warns of settings that make programs slower.";
    `P
      "It also says what a pool can see of other programs, how many CPUs it would use beside them \
       now, how it sets minor heaps, and when idle workers end. Last come the decisions of the pool \
       during a short trial, each with its reason. A program finds the same about its own pools by \
       Muster.Pool.stats; with MUSTER_STATS=1 any program prints it at its end.";
    `P "It changes nothing, and exits with 0 whether or not it warns.";
  ]

let envs =
  [
    Cmd.Env.info "MUSTER_DOMAINS" ~doc:"The number of workers of the default pool, from 1.";
    Cmd.Env.info "MUSTER_GOVERNOR"
      ~doc:"$(b,off): pools use their CPUs whatever other programs run.";
    Cmd.Env.info "OCAMLRUNPARAM"
      ~doc:"OCaml's settings: $(b,s=) words of minor heap, $(b,d=) domains.";
  ]

let command =
  let doc = "show which CPUs a pool finds on this machine, and how it uses them" in
  let as_json = Arg.(value & flag & info [ "json" ] ~doc:"Print all of it as one JSON object.") in
  Cmd.v (Cmd.info "doctor" ~doc ~man ~envs) Term.(const run $ as_json)
