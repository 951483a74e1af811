(* How many times faster than the sequential program, on 1, 2, 4 ... workers, in turn in one run. With [--waiting]
   iterations sleep and compute nothing, so that a machine of two CPUs shows how loops are shared
   among sixteen workers. *)

open Cmdliner

let rec doubled n ~upto = if n >= upto then [ upto ] else n :: doubled (2 * n) ~upto

let time (shape : Shapes.t) ~oversubscribe = function
  | 0 -> Clock.time shape.sequential
  | domains ->
    Muster.Pool.with_ ~domains ~oversubscribe @@ fun pool ->
    shape.parallel pool;
    Clock.time (fun () -> shape.parallel pool)

let row ~repeat ~oversubscribe counts (shape : Shapes.t) =
  let measured =
    Measure.in_turn ~repeat (fun ~round:_ n -> time shape ~oversubscribe n) (0 :: counts)
  in
  let least = List.map (fun (_, sample) -> Measure.minimum sample) measured in
  let alone = List.hd least in
  shape.name :: Clock.show alone
  :: List.map (fun t -> Printf.sprintf "%.2f" (alone /. t)) (List.tl least)

let bench domains repeat only waiting quick markdown =
  let counts = doubled 1 ~upto:domains in
  let shapes =
    if waiting then Shapes.(coarse sleep ~workers:domains)
    else if quick then Shapes.fine ~quick
    else Shapes.(coarse compute ~workers:domains @ fine ~quick)
  in
  let is_wanted (shape : Shapes.t) =
    only = [] || List.exists (fun prefix -> String.starts_with ~prefix shape.name) only
  in
  let print = if markdown then Table.to_markdown else Table.to_text in
  let workers n = Printf.sprintf "on %d" n in
  let rows = List.map (row ~repeat ~oversubscribe:waiting counts) (List.filter is_wanted shapes) in
  print_endline
    (print
       {
         title = "times faster than the sequential program";
         header = "" :: "sequential" :: List.map workers counts;
         rows;
       });
  print_endline (print (Machine.table (Machine.facts ())))

let domains =
  let doc = "The largest number of workers." in
  let cpus = Muster.Cpu.available () in
  Arg.(value & opt Options.positive cpus & info [ "domains" ] ~docv:"N" ~doc)

let repeat =
  let doc = "Take $(docv) rounds, each with every number of workers; the shortest time counts." in
  Arg.(value & opt Options.positive 3 & info [ "repeat" ] ~docv:"R" ~doc)

let only =
  let doc = "Only shapes whose name begins with $(docv) (can be repeated)." in
  Arg.(value & opt_all string [] & info [ "only" ] ~docv:"NAME" ~doc)

let waiting =
  let doc = "Iterations sleep; there are $(b,--domains) workers, whatever the number of CPUs." in
  Arg.(value & flag & info [ "waiting" ] ~doc)

let quick = Arg.(value & flag & info [ "quick" ] ~doc:"Sizes that only show that all runs.")
let markdown = Arg.(value & flag & info [ "markdown" ] ~doc:"Print Markdown.")

let () =
  let doc = "Muster's speed-up by the number of workers" in
  let term = Term.(const bench $ domains $ repeat $ only $ waiting $ quick $ markdown) in
  exit (Cmd.eval (Cmd.v (Cmd.info "bench-scaling" ~doc) term))
