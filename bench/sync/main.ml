(* Locks beside the stdlib's, in turn in one run. Those that nobody else wants may take twice as
   long as the stdlib's, those that all want three times. The exit code is 1 if one takes longer. *)

open Cmdliner

let print title header rows =
  if rows <> [] then print_endline (Table.to_text { title; header; rows = List.map snd rows });
  List.for_all fst rows

let verdict ratio limit = (ratio <= limit, if ratio <= limit then "pass" else "FAIL")

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
let uncontended ~repeat ~calls ~wanted =
  Gc.full_major ();
  beside_another_domain @@ fun () ->
  let all = List.filter (fun pair -> wanted pair.Uncontended.name) Uncontended.all in
  let rows () = List.map (Uncontended.row ~repeat ~calls) all in
  let show where =
    print ("nobody else wants it, " ^ where) [ ""; "Muster"; "Stdlib"; "ratio"; "" ]
  in
  let outside = show "outside all pools" (rows ()) in
  Muster.Pool.with_ ~domains:2 (fun _ -> show "in a task" Muster.Task.(await (async rows)))
  && outside

let row ~repeat ~quick ~domains { Program.name; shape; turns; ours; beside; limit } =
  let turns = if quick then 2_000 else turns in
  let time ~round:_ contender = Clock.time (contender ~domains ~turns) /. float turns in
  match Measure.in_turn ~repeat time [ ours; beside ] with
  | [ (_, o); (_, b) ] ->
    let ratio = Measure.median_ratio o b and show it = Clock.show (Measure.median it) in
    let passed, word = verdict ratio limit in
    (passed, [ name; shape; show o; show b; Printf.sprintf "%.2f" ratio; word ])
  | _ -> assert false

let contended ~repeat ~quick ~wanted domains =
  let programs = List.filter (fun p -> wanted p.Program.name) (Turns.all @ Meetings.all) in
  Muster.Pool.with_ ~domains ~oversubscribe:true (fun _ ->
      List.map (row ~repeat ~quick ~domains) programs)
  |> print
       (Printf.sprintf "all want it, %d domains: time of one turn" domains)
       [ ""; "shape"; "Muster"; "beside it"; "ratio"; "" ]

let bench repeat quick only domains =
  let wanted name =
    only = [] || List.exists (fun prefix -> String.starts_with ~prefix name) only
  in
  let calls = if quick then 2_000 else 300_000 in
  let alone = domains <> [] || uncontended ~repeat ~calls ~wanted in
  let counts = if domains = [] then [ 1; 2; 4; 8 ] else domains in
  let repeat = max 1 (repeat / 5) in
  let passed = List.map (contended ~repeat ~quick ~wanted) counts in
  if (alone && List.for_all Fun.id passed) || quick then 0 else 1

let repeat =
  let doc = "Take $(docv) rounds, and a fifth of that where all want it." in
  Arg.(value & opt Options.positive 15 & info [ "repeat" ] ~docv:"R" ~doc)

let quick = Arg.(value & flag & info [ "quick" ] ~doc:"So few calls that all takes a second.")

let only =
  let doc = "Only what has a name that begins with $(docv) (can be repeated)." in
  Arg.(value & opt_all string [] & info [ "only" ] ~docv:"NAME" ~doc)

let domains =
  let doc = "Only where all want it, on $(docv) domains (can be repeated)." in
  Arg.(value & opt_all Options.positive [] & info [ "domains" ] ~docv:"N" ~doc)

let () =
  let doc = "Muster's locks beside the stdlib's" in
  let term = Term.(const bench $ repeat $ quick $ only $ domains) in
  exit (Cmd.eval' (Cmd.v (Cmd.info "bench-sync" ~doc) term))
