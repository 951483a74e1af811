open Cmdliner
open Muster_cli

let man =
  [
    `S Manpage.s_description;
    `P
      "$(mname) is the command of Muster, a multicore toolkit for OCaml 5. It runs the examples, and \
       shows what a pool does on this machine. For a program that uses Muster it finds out why the \
       program does not scale, how its time depends on the number of workers, and which data races \
       it has.";
    `S Manpage.s_examples;
    `Pre "  $(mname) run fib --size 38\n  $(mname) run closure\n  $(mname) doctor --json\n  $(mname) why -- ./prog\n  $(mname) scale -- ./prog\n  $(mname) race -- ./prog";
  ]

(* Listed as the others; [arguments] never reaches it. *)
let help =
  let doc = "show the manual of $(mname), or of one of its commands" in
  let names = Arg.(value & pos_all string [] & info [] ~docv:"COMMAND") in
  Cmd.v (Cmd.info "help" ~doc) Term.(const (fun _ -> Cmd.Exit.ok) $ names)

(* [muster help run fib] is [muster run fib --help]. *)
let arguments =
  match Array.to_list Sys.argv with
  | name :: "help" :: command -> Array.of_list ((name :: command) @ [ "--help" ])
  | _ -> Sys.argv

let muster =
  let doc = "run examples of Muster, and find out where a program's time goes" in
  let default = Term.(ret (const (`Help (`Plain, None)))) in
  Cmd.group
    (Cmd.info "muster" ~version:Facts.muster_version ~doc ~man)
    ~default
      [
        Run.command;
        Doctor.command;
        Why.command;
        Muster_scale.Scale.command;
        Muster_race.Race.command;
        help;
      ]

let () = Muster_program.Program.main ~arguments muster
