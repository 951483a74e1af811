open Cmdliner
module Pool = Muster.Pool

type t = string * string * int Cmd.t

type row =
  | Row : {
      label : string;
      shows : string;
      sequential : unit -> 'a;
      parallel : Pool.t -> 'a;
      agree : 'a -> 'a -> bool;
      show : 'a -> string;
    }
      -> row

let same expected got = compare expected got = 0

let row ?(agree = same) ~shows ~show ~sequential ~parallel label =
  Row { label; shows; sequential; parallel; agree; show }

type pool_options = { domains : int option; oversubscribe : bool }

(* The collection keeps one run from paying for what the run before it left behind. *)
let timed f =
  Gc.full_major ();
  let counter = Mtime_clock.counter () in
  let answer = f () in
  (answer, Mtime.Span.to_float_ns (Mtime_clock.count counter) *. 1e-9)

let print_line ~title ~domains ~sequential ~parallel answer =
  Printf.printf "%-36s %8.4f s sequential  %8.4f s on %d %s  speed-up %5.2f  %s\n%!" title
    sequential parallel domains
    (if domains = 1 then "domain" else "domains")
    (sequential /. parallel) answer

(* The sequential twin runs before the pool exists: even idle domains slow its
   collections. *)
let run_row name { domains; oversubscribe } (Row row) =
  let title = Printf.sprintf "%s: %s" name row.label in
  let expected, sequential = timed row.sequential in
  Pool.with_ ?domains ~oversubscribe @@ fun pool ->
  let got, parallel = timed (fun () -> row.parallel pool) in
  let agrees = row.agree expected got in
  if agrees then begin
    print_line ~title ~domains:(Pool.size pool) ~sequential ~parallel (row.show got);
    Format.printf "  @[%a@]@." Format.pp_print_text row.shows
  end
  else
    Printf.eprintf "%s: the parallel answer (%s) differs from the sequential answer (%s)\n%!" title
      (row.show got) (row.show expected);
  agrees

let differs = 1

let run name options size rows =
  if List.for_all (run_row name options) (rows size) then Cmd.Exit.ok else differs

let int_between min max =
  let error = Printf.sprintf "%S is not a whole number from %d to %d" in
  let parse text =
    match int_of_string_opt text with
    | Some n when min <= n && n <= max -> Ok n
    | Some _ | None -> Error (`Msg (error text min max))
  in
  Arg.conv ~docv:"N" (parse, Format.pp_print_int)

let largest = 1_000_000_000

let option_between min max ~default name doc =
  Arg.(value & opt (int_between min max) default & info [ name ] ~docv:"N" ~doc)

let option ?(min = 1) ~default name doc = option_between min largest ~default name doc
let size ?(max = largest) ~default doc = option_between 1 max ~default "size" doc

let domains =
  let doc =
    "Run on $(docv) domains, the main one included, but on no more than the CPUs that this process \
     may use. By default: as many as those CPUs."
  in
  let count = int_between 1 largest in
  Arg.(value & opt (some count) None & info [ "domains" ] ~docv:"N" ~doc)

let oversubscribe =
  let doc = "Insist on the number of $(b,--domains), even above the number of CPUs." in
  Arg.(value & flag & info [ "oversubscribe" ] ~doc)

let pool_options =
  let options domains oversubscribe = { domains; oversubscribe } in
  Term.(const options $ domains $ oversubscribe)

let command ~name ~doc ~size rows =
  let wrong = Cmd.Exit.info differs ~doc:"when the answers differ." in
  let exits = wrong :: Cmd.Exit.defaults in
  let run = run name in
  let term = Term.(const run $ pool_options $ size $ rows) in
  (name, doc, Cmd.v (Cmd.info name ~doc ~exits) term)

let checksum values = Printf.sprintf "%.17g" (Array.fold_left ( +. ) 0. values)
