open Cmdliner
open Muster_solver_service

let run settings =
  match Eio_main.run (fun env -> Service.run env settings) with
  | () -> Cmd.Exit.ok
  | exception Eio.Io (error, _) ->
    Format.eprintf "solver_service: port %d: %a@." settings.port Eio.Exn.pp_err error;
    Cmd.Exit.some_error
  | exception Unix.Unix_error (error, call, _) ->
    Format.eprintf "solver_service: %s: %s@." call (Unix.error_message error);
    Cmd.Exit.some_error

let number ?(least = 0) ?(most = 1_000_000) default name doc =
  let parse text =
    match int_of_string_opt text with
    | Some n when n >= least && n <= most -> Ok n
    | _ -> Error (Printf.sprintf "%S is not a whole number from %d to %d" text least most)
  in
  let whole = Arg.conv' ~docv:"N" (parse, Format.pp_print_int) in
  Arg.(value & opt whole default & info [ name ] ~docv:"N" ~doc)

let seconds default name doc =
  let parse text =
    match float_of_string_opt text with
    | Some it when it > 0. && it < infinity -> Ok it
    | _ -> Error (Printf.sprintf "%S is not a number of seconds" text)
  in
  let positive = Arg.conv' ~docv:"SECONDS" (parse, fun ppf -> Format.fprintf ppf "%g") in
  Arg.(value & opt positive default & info [ name ] ~docv:"SECONDS" ~doc)

let source =
  let opam =
    let doc = "Take opam files from $(docv), a tree or an archive, not Debian's packages." in
    Arg.(value & opt (some string) None & info [ "opam" ] ~docv:"PATH" ~doc)
  in
  let of_path = function
    | Some path -> Repository.Opam path
    | None -> Debian (Muster_closure.Index.on_this_machine ())
  in
  Term.(const of_path $ opam)

let place =
  let workers =
    let doc = "Solve on $(docv) workers; 0: on the event loop." in
    number (Muster.Cpu.available ()) "workers" doc
  in
  let queue = number 64 "queue" "Let at most $(docv) requests wait for a worker." in
  let eio =
    let doc = "Solve on Eio's Executor_pool, to compare." in
    Arg.(value & flag & info [ "executor-pool" ] ~doc)
  in
  let place count queue eio =
    if count = 0 then Service.Event_loop
    else if eio then Executor_pool count
    else Workers { count; queue }
  in
  Term.(const place $ workers $ queue $ eio)

let limits =
  let head = number ~least:100 16_384 "head" "Refuse requests with heads of over $(docv) bytes." in
  let patience = seconds 10. "patience" "Wait $(docv) for a request to come, or an answer to go." in
  let limits head seconds = { Connection.head; seconds } in
  Term.(const limits $ head $ patience)

let settings =
  let settings source place deadline grace limits (port, accept_domains) =
    { Service.source; place; deadline; grace; limits; port; accept_domains }
  in
  let port = number ~most:65_535 7777 "port" "Listen on port $(docv) of this host; 0 takes a free one." in
  let domains = number ~least:1 ~most:100 1 "accept-domains" "Serve the network on $(docv) domains." in
  Term.(
    const settings $ source $ place
    $ seconds 30. "deadline" "Give a solve up after $(docv)."
    $ seconds 5. "grace" "At the end, wait $(docv) for the solves under way."
    $ limits
    $ (const (fun port domains -> (port, domains)) $ port $ domains))

let () =
  let doc = "which packages to install, over HTTP" in
  Muster_program.Program.main (Cmd.v (Cmd.info "solver_service" ~doc) Term.(const run $ settings))
