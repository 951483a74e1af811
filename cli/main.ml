open Cmdliner
open Muster_cli

let man =
  [
    `S Manpage.s_description;
    `P
      "$(mname) runs the examples of Muster, a multicore toolkit for OCaml 5, and says what its \
       pool will do on this machine.";
    `S Manpage.s_examples;
    `Pre "  $(mname) run fib --size 38\n  $(mname) run closure\n  $(mname) doctor --json";
  ]

let muster =
  let doc = "run Muster's examples, and see what its pool will do here" in
  let default = Term.(ret (const (`Help (`Plain, None)))) in
  Cmd.group
    (Cmd.info "muster" ~version:Facts.muster_version ~doc ~man)
    ~default [ Run.command; Doctor.command ]

let () = Muster_program.Program.main muster
