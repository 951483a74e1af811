open Cmdliner

let closure = ("closure", "what every package of this machine's index pulls in")

let documented =
  closure :: List.map (fun (name, doc, _) -> (name, doc)) Muster_examples.Registry.all

let commands =
  Muster_closure.Command.cmd
  :: List.map (fun (_, _, command) -> command) Muster_examples.Registry.all

let list () =
  print_endline "muster run EXAMPLE runs one of these (--help shows its options):\n";
  let wider width (name, _) = max width (String.length name) in
  let width = List.fold_left wider 0 documented in
  List.iter (fun (name, doc) -> Printf.printf "  %-*s  %s\n" width name doc) documented;
  Cmd.Exit.ok

let man =
  [
    `S Manpage.s_description;
    `P
      "Runs an example of Muster: the sequential program, then the parallel one, checks that their \
       answers agree, and prints the times. Without $(i,COMMAND), lists the examples.";
  ]

let command =
  let doc = "run an example beside its sequential twin" in
  Cmd.group (Cmd.info "run" ~doc ~man) ~default:Term.(const list $ const ()) commands
