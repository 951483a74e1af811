(* Each planted problem several times: is its cause the first that is named? A CPU that other
   programs use is named where it is so, and is not what the test is about. *)

open Muster_cli

let planted = Filename.concat (Filename.dirname Sys.executable_name) "planted.exe"

(* Those that need the second run are last. *)
let expected =
  [
    ("healthy", false, None);
    ("sequential", false, Some "too little parallelism");
    ("tiny", false, Some "tasks too small");
    ("straggler", false, Some "imbalance");
    ("domainslib", false, Some "imbalance");
    ("allocation", false, Some "collections");
    ("domains", false, Some "more workers than CPUs");
    ("lock", false, Some "waiting for a lock");
    ("channel", false, Some "waiting for a channel");
    ("blocking", false, Some "a blocking call in a task");
    ("sharing", true, Some "memory");
    ("memory", true, Some "memory");
    ("healthy", true, None);
  ]

let others = "no CPU"

let cause name ~span =
  match Session.run [ planted; name ] with
  | Error { why; _ } -> failwith why
  | Ok session ->
    let alone = if span then Result.to_option (Session.run ~alone:true [ planted; name ]) else None in
    let findings = Rules.findings (Why.run_of session ~alone) in
    let is_own (it : Rules.finding) = not (String.starts_with ~prefix:others it.cause) in
    Option.map (fun (it : Rules.finding) -> it.cause) (List.find_opt is_own findings)
[@@ocamlformat "disable"]

let is_right expected found =
  match (expected, found) with
  | None, None -> true
  | Some prefix, Some cause -> String.starts_with ~prefix cause
  | _ -> false

let () =
  let repeats = try int_of_string Sys.argv.(1) with _ -> 5 in
  Unix.putenv "MUSTER_GOVERNOR" "off";
  let play (name, span, expected) =
    let found = List.init repeats (fun _ -> cause name ~span) in
    let right = List.length (List.filter (is_right expected) found) in
    let told = Option.value ~default:"nothing" in
    Printf.printf "%-12s%s %d of %d: %s\n%!" name
      (if span then " --span" else "")
      right repeats
      (String.concat ", " (List.sort_uniq String.compare (List.map told found)));
    right = repeats
  in
  let wrong = List.length (List.filter (fun it -> not (play it)) expected) in
  Printf.printf "%d passed, %d failed\n" (List.length expected - wrong) wrong;
  exit (if wrong > 1 then 1 else 0)
