open Cmdliner

type source = Files of string list | Generated of int

let plural n noun = Printf.sprintf "%d %s%s" n noun (if n = 1 then "" else "s")

let describe (index : Index.t) =
  let megabytes = float_of_int (String.length index.text) /. 1e6 in
  Printf.printf "Index %s, %.1f MB\n" index.path megabytes

let generated packages =
  let text = Generate.index ~packages in
  { Index.path = Printf.sprintf "of %d generated packages" packages; text }

let load = function
  | Files paths -> List.map Index.read paths
  | Generated packages -> [ generated packages ]

let choose = function
  | [], Some packages -> Generated packages
  | [], None -> (
    match Index.on_this_machine () with
    | [] ->
      print_endline "apt keeps no package index here: runs on a generated one.";
      Generated Generate.default_packages
    | lists -> Files lists)
  | paths, _ -> Files paths

let largest ~oversubscribe asked =
  let wanted = Option.value asked ~default:(Muster.Cpu.available ()) in
  let most = Runs.most ~oversubscribe wanted in
  if asked <> None && most < wanted then
    Printf.printf "Asked for %s, but %s: runs on no more.\n" (plural wanted "domain")
      (if oversubscribe then "the runtime has only " ^ plural most "domain"
       else "the process may use " ^ plural most "CPU");
  most

let job source ~domains ~oversubscribe ~top ~repeat =
  let indexes = load source in
  List.iter describe indexes;
  let domains = Runs.counts (largest ~oversubscribe domains) in
  let texts = List.map (fun (index : Index.t) -> index.text) indexes in
  let measured () = Runs.measure ~oversubscribe ~domains ~repeat texts in
  match measured () with
  | answer, runs ->
    Report.weights answer ~top;
    Report.times runs;
    Ok ()
  | exception Text.Malformed { text; at; reason } ->
    let index = List.find (fun (index : Index.t) -> index.text == text) indexes in
    let line = Text.line_of text at in
    Error (2, Printf.sprintf "%s: line %d: %s" index.path line reason)
  | exception Runs.Different { domains; what } ->
    let run = plural domains "domain" in
    Error (1, Printf.sprintf "%s: %s is not what the sequential program finds" run what)

let main index domains oversubscribe top repeat =
  let outcome =
    match job (choose index) ~domains ~oversubscribe ~top ~repeat with
    | outcome -> outcome
    | exception Index.Unreadable { path; reason } -> Error (2, Printf.sprintf "%s: %s" path reason)
  in
  match outcome with
  | Ok () -> 0
  | Error (status, message) ->
    flush stdout;
    Printf.eprintf "closure: %s\n%!" message;
    status

let number ?most least =
  let range = Option.fold most ~none:"on" ~some:(Printf.sprintf "to %d") in
  let most = Option.value most ~default:max_int in
  let parse text =
    match int_of_string_opt text with
    | Some n when least <= n && n <= most -> Ok n
    | _ -> Error (`Msg (Printf.sprintf "%S is not a whole number from %d %s" text least range))
  in
  Arg.conv (parse, Format.pp_print_int)

(* They take a kilobyte each, in a text of at most [Text.max_length]. *)
let most_generated = 1_000_000

let index =
  let doc =
    "Read the package index $(docv), plain or compressed, instead of this machine's. Can be given \
     several times: of a package in several, the newest version counts."
  in
  Arg.(value & opt_all string [] & info [ "index" ] ~docv:"FILE" ~doc)

let generate =
  let doc = "Run on a generated index of $(docv) packages, a million at most." in
  Arg.(
    value
    & opt (some (number 0 ~most:most_generated)) None
    & info [ "generate"; "size" ] ~docv:"N" ~doc)

let index_or_generate =
  let either paths generate =
    match (paths, generate) with
    | _ :: _, Some _ -> `Error (true, "--index and --generate exclude each other")
    | _ -> `Ok (paths, generate)
  in
  Term.(ret (const either $ index $ generate))

let domains =
  let doc =
    "Run on 1, 2, … and up to $(docv) domains. The default is the number of CPUs the process may \
     use, and without $(b,--oversubscribe) also the most."
  in
  Arg.(value & opt (some (number 1)) None & info [ "domains" ] ~docv:"N" ~doc)

let oversubscribe =
  let doc = "Run on as many domains as $(b,--domains) says, even on fewer CPUs." in
  Arg.(value & flag & info [ "oversubscribe" ] ~doc)

let top =
  let doc = "Print the $(docv) heaviest packages." in
  Arg.(value & opt (number 0) 10 & info [ "top" ] ~docv:"N" ~doc)

let repeat =
  let doc = "Measure each run $(docv) times, in turn, and keep the shortest times." in
  Arg.(value & opt (number 1) 3 & info [ "repeat" ] ~docv:"N" ~doc)

let man =
  [
    `S Manpage.s_description;
    `P
      "Reads the package index that apt keeps on a Debian or Ubuntu machine, resolves the \
       dependencies of every package, and finds for each how many packages and how many megabytes \
       it pulls in. It does so with a plain sequential program and on 1, 2, … domains, checks that \
       the answers are equal, and prints them and the times. Where apt keeps no index, a generated \
       one takes its place.";
    `P
      "A package's weight is its own size and that of all it depends on, directly or not, by \
       $(b,Depends) and $(b,Pre-Depends). Of alternatives the first that is met by a package of \
       the index counts, else the first that is met by one that provides it.";
  ]

let exits =
  Cmd.Exit.info 1 ~doc:"if a parallel answer differs from the sequential one."
  :: Cmd.Exit.info 2 ~doc:"if an index cannot be read."
  :: Cmd.Exit.defaults

let cmd =
  let doc = "what every package of this machine's index pulls in" in
  let info = Cmd.info "closure" ~doc ~man ~exits in
  Cmd.v info Term.(const main $ index_or_generate $ domains $ oversubscribe $ top $ repeat)
