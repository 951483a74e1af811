type who = Sequential | Workers of int

type row = {
  who : who;
  seconds : float;
  vs_sequential : float option;
  vs_one : float option;
  cpus_used : float;
}

type t = { rows : row list; pools : int list; failure : (int * string) option }

(* {2 One run} *)

exception Failed of int * string

type contender = { of_whom : who; command : string list; name : string; mutable cpu : float list }

let sequential line =
  { of_whom = Sequential; command = [ "/bin/sh"; "-c"; line ]; name = line; cpu = [] }

let on_workers command n =
  let name = Printf.sprintf "%s on %d worker%s" (List.hd command) n (if n = 1 then "" else "s") in
  { of_whom = Workers n; command; name; cpu = [] }

let environment it =
  match it.of_whom with Sequential -> [] | Workers n -> [ ("MUSTER_DOMAINS", string_of_int n) ]

(* Without what MUSTER_STATS has added. *)
let rec own_lines ~in_report = function
  | [] -> []
  | line :: rest
    when String.starts_with ~prefix:"Muster: pool " line
         || (in_report && String.starts_with ~prefix:"  " line) ->
    own_lines ~in_report:true rest
  | line :: rest -> line :: own_lines ~in_report:false rest

let last_lines text =
  let lines = List.filter (( <> ) "") (String.split_on_char '\n' text) in
  let lines = own_lines ~in_report:false lines in
  let last = List.filteri (fun i _ -> i >= List.length lines - 10) lines in
  String.concat "" (List.map (fun line -> "\n  " ^ line) last)

let ended : Unix.process_status -> string = function
  | WEXITED code -> Printf.sprintf "ended with status %d" code
  | status -> Printf.sprintf "was killed by signal %d" (Child.code status - 128)

let stop_if_told ~code =
  let stop signal = raise (Failed ((if code = 0 then signal else code), "interrupted")) in
  Option.iter stop (Child.stopped ())

let run_one ?(env = []) it =
  stop_if_told ~code:0;
  match Child.run ~env:(env @ environment it) it.command with
  | Error (status, why) -> raise (Failed (status, why))
  | Ok outcome ->
    let code = Child.code outcome.status in
    stop_if_told ~code;
    if code = 0 then outcome
    else
      let why = it.name ^ " " ^ ended outcome.status in
      raise (Failed (code, why ^ last_lines outcome.errors))

(* {2 All of them} *)

let finished sample = List.filter (fun t -> not (Float.is_nan t)) (Measure.runs sample)
let median values = Measure.median (Measure.of_runs values)

(* Of the rounds that both finished. *)
let ratio samples base sample =
  match List.find_opt (fun (it, _) -> it.of_whom = base) samples with
  | None -> None
  | Some (_, of_base) ->
    let both = List.map2 ( /. ) (Measure.runs of_base) (Measure.runs sample) in
    let both = List.filter (fun r -> not (Float.is_nan r)) both in
    if both = [] then None else Some (median both)

let row samples (it, sample) =
  match finished sample with
  | [] -> None
  | seconds ->
    Some
      {
        who = it.of_whom;
        seconds = median seconds;
        vs_sequential = ratio samples Sequential sample;
        vs_one = ratio samples (Workers 1) sample;
        cpus_used = median it.cpu;
      }

(* A failure leaves [nan] in all runs that would have followed. *)
let measured ~say ~rounds contenders =
  let failure = ref None in
  let run ~round it =
    if !failure <> None then nan
    else begin
      say (Printf.sprintf "round %d of %d: %s" (round + 1) rounds it.name);
      match run_one it with
      | outcome ->
        it.cpu <- (outcome.cpu_seconds /. outcome.seconds) :: it.cpu;
        outcome.seconds
      | exception Failed (code, why) ->
        failure := Some (code, why);
        nan
    end
  in
  let samples = Measure.in_turn ~repeat:rounds run contenders in
  (List.filter_map (row samples) samples, !failure)

(* What a pool prints at the end under MUSTER_STATS. *)
let sizes_of_pools (outcome : Child.outcome) =
  let size line = Scanf.sscanf_opt line " pool %d worker" Fun.id in
  List.filter_map size (String.split_on_char '\n' outcome.errors)

let run ?sequential:line ~say ~rounds ~counts command =
  let first = List.map sequential (Option.to_list line) in
  let contenders = first @ List.map (on_workers command) counts in
  let last = List.nth contenders (List.length contenders - 1) in
  say ("a run that does not count: " ^ last.name);
  match run_one ~env:[ ("MUSTER_STATS", "1") ] last with
  | exception Failed (code, why) -> { rows = []; pools = []; failure = Some (code, why) }
  | outcome ->
    let rows, failure = measured ~say ~rounds contenders in
    { rows; pools = sizes_of_pools outcome; failure }
