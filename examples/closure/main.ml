let () = Muster_program.Program.main Muster_closure.Command.cmd
