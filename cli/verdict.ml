let first (r : Rules.run) =
  let { Rules.m; cpu; cpus; _ } = r in
  Printf.sprintf "%s on %s%s: %.1f of %g CPU%s used." (Rules.time m.wall)
    (if r.lost then "at least " else "")
    (Rules.workers m)
    (cpu /. Float.max 1e-9 m.wall) cpus
    (if cpus = 1. then "" else "s")

(* Time for which the events of a ring were lost could be any cause's, or none's. *)
let gain (r : Rules.run) (it : Rules.finding) =
  let most = Float.min r.m.wall (it.gain +. r.m.unknown) in
  if not r.lost then
    Printf.sprintf "%.0f %% of the time, about %s without it" (100. *. it.gain /. r.m.wall)
      (Rules.time (r.m.wall -. it.gain))
  else
    let percent x = Printf.sprintf "%.0f" (100. *. x /. r.m.wall) in
    let least = percent it.gain and most = percent most in
    if least = most then Printf.sprintf "about %s %% of the time" least
    else Printf.sprintf "%s to %s %% of the time" least most

(* The runtime of 128 domains ends a program with larger ones. *)
let larger_rings = "larger rings, which lose fewer events: OCAMLRUNPARAM=e=20"

let main (r : Rules.run) (it : Rules.finding) =
  [
    Printf.sprintf "Main cause: %s, %s." it.cause (gain r it);
    (if r.lost then "  Its figures are not known, since events were lost." else Printf.sprintf "  %s." it.number);
    Printf.sprintf "Try: %s." it.advice;
  ]
[@@ocamlformat "disable"]

let other (r : Rules.run) (it : Rules.finding) =
  let number = if r.lost then "" else String.capitalize_ascii it.number ^ ". " in
  Printf.sprintf "Also: %s, %s. %sTry: %s." it.cause (gain r it) number it.advice

let well (r : Rules.run) =
  let unused = r.cpus -. (r.cpu /. Float.max 1e-9 r.m.wall) in
  let beyond =
    match r.alone with
    | None -> " Run it with --span to see whether memory or false sharing makes the work itself longer."
    | Some _ -> ""
  in
  let crowded =
    if Rules.is_crowded r then
      Printf.sprintf " %s on %g CPUs cost nothing here, but will cost time if it collects more often."
        (Rules.workers r.m) r.cpus
    else ""
  in
  if r.lost && r.m.unknown > Rules.felt *. r.m.wall then
    [ "No cause is certain, since events were lost."; Printf.sprintf "Try: %s." larger_rings ]
  else if unused < 0.25 *. r.cpus then [ "It scales fine: no cause takes a seventh of the time." ^ crowded ^ beyond ]
  else [ "It does not use all CPUs, but no single cause takes a seventh of the time." ^ beyond ]

(* A short run has few samples, and the start of the domains in it. *)
let short = 0.2

let confidence (r : Rules.run) findings =
  let reasons =
    List.filter_map
      (fun (holds, text) -> if holds then Some text else None)
      [
        (r.lost, "events were lost, so figures are ranges");
        (r.m.wall < short, "the run was short");
        (Rules.queued r > 0.2 *. r.m.working, "other threads used the CPUs, which hides causes");
        (r.m.sampled, "tasks were forked so fast that only one of 64 was traced");
        ( (match findings with (a : Rules.finding) :: b :: _ -> b.gain > 0.7 *. a.gain | _ -> false),
          "two causes are about as large" );
      ]
  in
  match reasons with
  | [] -> "Confidence: high."
  | [ _ ] -> Printf.sprintf "Confidence: fair (%s)." (String.concat "; " reasons)
  | _ -> Printf.sprintf "Confidence: low (%s)." (String.concat "; " reasons)

let lines (r : Rules.run) =
  let findings = Rules.findings r in
  let verdict =
    match findings with
    | [] -> well r
    | it :: others -> main r it @ List.map (other r) others
  in
  (first r :: verdict) @ [ confidence r findings ]
