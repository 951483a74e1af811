(* One program under every example's name: [fib.exe] is the example [fib], and [run.exe
   fib] too. *)

open Cmdliner
module Registry = Muster_examples.Registry

let any_of_them =
  let commands = List.map (fun (_, _, command) -> command) Registry.all in
  let doc = "run an example of Muster beside its sequential twin" in
  Cmd.group (Cmd.info "run" ~doc) commands

let () =
  let name = Filename.(remove_extension (basename Sys.argv.(0))) in
  Muster_program.Program.main (Option.value (Registry.find name) ~default:any_of_them)
