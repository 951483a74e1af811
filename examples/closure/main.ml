let () = exit (Cmdliner.Cmd.eval' Muster_closure.Command.cmd)
