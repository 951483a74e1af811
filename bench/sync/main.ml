(* Locks beside the stdlib's, in turn in one run. Those that nobody else wants may take twice as
   long as the stdlib's; the exit code is 1 if one takes longer. *)

open Cmdliner

let print title header rows = print_endline (Table.to_text { title; header; rows })

(* Where there is one domain, OCaml's atomic operations do without the bus lock. *)
let beside_another_domain f =
  let over = Semaphore.Binary.make false in
  let other = Domain.spawn (fun () -> Semaphore.Binary.acquire over) in
  let finally () =
    Semaphore.Binary.release over;
    Domain.join other
  in
  Fun.protect ~finally f

(* Locks live longer than a minor collection. *)
let uncontended ~repeat ~calls =
  Gc.full_major ();
  beside_another_domain @@ fun () ->
  let rows () = List.map (Uncontended.row ~repeat ~calls) Uncontended.all in
  let show where rows =
    print
      ("nobody else wants it, " ^ where)
      [ ""; "Muster"; "Stdlib"; "ratio"; "" ]
      (List.map snd rows);
    List.for_all fst rows
  in
  let outside = show "outside all pools" (rows ()) in
  let inside =
    Muster.Pool.with_ ~domains:2 (fun _ ->
        show "in a task" Muster.Task.(await (async rows)))
  in
  outside && inside

let contended ~repeat ~calls =
  print "everybody wants it: time of one turn (times the stdlib's)" ("" :: Contended.names)
    (List.map (Contended.row ~repeat ~calls) Contended.shapes)

let turns ~repeat ~turns =
  let show domains =
    let title = Printf.sprintf "turns at a lock that all want, %d domains: time of one" domains in
    print title Turns.header (Turns.rows ~repeat ~turns ~domains)
  in
  List.iter show [ 1; 2; 4; 8 ]

let bench repeat quick =
  let calls = if quick then 2_000 else 300_000 in
  let passed = uncontended ~repeat ~calls in
  contended ~repeat:(max 1 (repeat / 2)) ~calls:(calls / 10);
  turns ~repeat:(max 1 (repeat / 5)) ~turns:(if quick then 2_000 else 100_000);
  if passed || quick then 0 else 1

let repeat =
  let doc = "Take $(docv) rounds; in each, every contender runs once." in
  Arg.(value & opt Options.positive 15 & info [ "repeat" ] ~docv:"R" ~doc)

let quick = Arg.(value & flag & info [ "quick" ] ~doc:"So few calls that all takes a second.")

let () =
  let doc = "Muster's locks beside the stdlib's" in
  exit (Cmd.eval' (Cmd.v (Cmd.info "bench-sync" ~doc) Term.(const bench $ repeat $ quick)))
