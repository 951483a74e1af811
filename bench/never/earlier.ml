open Yojson.Safe.Util

let now = Filename.(concat (dirname (dirname Sys.executable_name)) "main.exe")

let experiments =
  let short = [ "fork"; "task"; "slices"; "dynamic"; "loop"; "broadcast" ] in
  short @ [ "fib"; "spectral-norm"; "life" ]

(* The minima of Muster's contenders: experiment and domains, and nanoseconds. *)
let figures report =
  let of_contender experiment contender =
    let domains = contender |> member "domains" |> to_int in
    match contender |> member "name" |> to_string with
    | "muster" -> Some ((experiment, domains), contender |> member "minimum" |> to_number)
    | _ -> None
  in
  let of_experiment experiment =
    let name = experiment |> member "name" |> to_string in
    experiment |> member "contenders" |> to_list |> List.filter_map (of_contender name)
  in
  report |> member "experiments" |> to_list |> List.concat_map of_experiment

let measure program experiment =
  let file = Filename.temp_file "muster_never" ".json" in
  let finally () = Sys.remove file in
  Fun.protect ~finally (fun () ->
      let arguments = [ "--repeat"; "1"; "--only"; experiment; "--json"; file ] in
      let command = Filename.quote_command program arguments ~stdout:Filename.null in
      if Sys.command command <> 0 then failwith (command ^ ": failed");
      figures (Yojson.Safe.from_file file))

let rows_of ~situation ~repeat ~before experiment =
  let round _ =
    let earlier = measure before experiment in
    (measure now experiment, earlier)
  in
  let rounds = List.init repeat round in
  let sample which key =
    Measure.of_runs (List.map (fun round -> List.assoc key (which round)) rounds)
  in
  let row ((name, domains) as key) =
    let detail = Printf.sprintf "%s on %d" name domains in
    let subject = sample fst key and against = sample snd key in
    let got = Row.Ratio { subject; against } in
    { Row.situation; detail; program = "muster"; got; limit = At_most 1.05 }
  in
  List.map (fun (key, _) -> row key) (fst (List.hd rounds))

let rows ~situation ~repeat ~before =
  List.concat_map (rows_of ~situation ~repeat ~before) experiments
