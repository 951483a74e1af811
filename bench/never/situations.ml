open Turns

type t = { name : string; doc : string; rows : options -> Row.t list }

let name situation = situation.name
let doc situation = situation.doc

(* ---- Programs ---- *)

(* Two is what the others are held against. One worker is no faster than one CPU, so one
   domain asked for is held against the sequential program. The default pool only takes
   the turn after these two: where the other CPU has slept, the next run is slower. *)
let domains =
  let situation = "domains" in
  let asked = [ 1; 3; 4; 8; 16; 64; 200 ] in
  let rows options job =
    let many = List.map (fun n -> Job.Asked n) (2 :: List.tl asked) in
    let hows = Job.(Sequential :: Asked 1 :: Default :: many) in
    let sample = jobs_in_turn options ~situation job hows in
    let row n =
      let reference = if n = 1 then Job.Sequential else Asked 2 in
      {
        Row.situation;
        detail = Printf.sprintf "%d asked for, against %s" n (Job.label reference);
        program = Job.name job;
        got = Ratio { subject = sample (Asked n); against = sample reference };
        limit = At_most 1.05;
      }
    in
    List.map row asked
  in
  {
    name = situation;
    doc = "1 to 200 domains asked for, on a quiet machine, against 2 asked for";
    rows = (fun options -> for_each_job options ~situation (rows options));
  }

(* Pools against the sequential program, all in the same confines. *)
let against_sequential options ~situation ?confine ~limit hows job =
  let sample = jobs_in_turn options ~situation ?confine job (Job.Sequential :: hows) in
  let row how =
    let detail =
      match how with
      | Job.Asked n -> Printf.sprintf "%d asked for" n
      | Sequential | Default | Fixed _ -> ""
    in
    {
      Row.situation;
      detail;
      program = Job.name job;
      got = Ratio { subject = sample how; against = sample Sequential };
      limit;
    }
  in
  List.map row hows

let pinned =
  let situation = "pinned" in
  let rows options =
    match Confines.pinned () with
    | Error why -> skipped ~situation why
    | Ok confine ->
      for_each_job options ~situation
        (against_sequential options ~situation ~confine ~limit:(At_most 1.05) [ Default; Asked 8 ])
  in
  { name = situation; doc = "pinned to one CPU, default pool and 8 asked for"; rows }

let quota =
  let situation = "quota" in
  let rows options =
    let under confine =
      for_each_job options ~situation
        (against_sequential options ~situation ~confine ~limit:(At_most 1.1) [ Default ])
    in
    match Confines.with_quota 1. under with Ok rows -> rows | Error why -> skipped ~situation why
  in
  { name = situation; doc = "a control group with a quota of 1 CPU"; rows }

let quiet =
  let situation = "quiet" in
  let limit = if Muster.Cpu.available () > 1 then Row.Below 1. else At_most 1.1 in
  let rows options =
    for_each_job options ~situation (against_sequential options ~situation ~limit [ Default ])
  in
  { name = situation; doc = "nothing else: what the default pool gains"; rows }

(* One CPU is the sequential program's. If the neighbours leave another, the pool must
   gain by it. *)
let beside count =
  let situation = Printf.sprintf "neighbours-%d" count in
  let free = Muster.Cpu.available () - count - 1 in
  let limit = if free > 0 then Row.Below 1. else At_most 1.1 in
  let rows options =
    for_each_job options ~situation (fun job ->
        Neighbour.beside count (fun () ->
            against_sequential options ~situation ~limit [ Default ] job))
  in
  { name = situation; doc = Printf.sprintf "beside %d busy processes" count; rows }

let better a b = if Measure.median a <= Measure.median b then a else b

(* The default pool against the better of 1 and 2 workers that stay. *)
let against_fixed options ~situation ~detail ?confine ?seconds job =
  let sample =
    jobs_in_turn options ~situation ?confine ?seconds job [ Default; Fixed 1; Fixed 2 ]
  in
  let against = better (sample (Fixed 1)) (sample (Fixed 2)) in
  let which = if against == sample (Fixed 1) then "1" else "2" in
  {
    Row.situation;
    detail = Printf.sprintf "%s, against a fixed %s" detail which;
    program = Job.name job;
    got = Ratio { subject = sample Default; against };
    limit = At_most 1.1;
  }

let fractions =
  let situation = "quota-fractions" in
  let rows_under options cpus =
    let detail = Printf.sprintf "%g CPUs" cpus in
    let under confine =
      for_each_job options ~situation (fun job ->
          [ against_fixed options ~situation ~detail ~confine job ])
    in
    match Confines.with_quota cpus under with
    | Ok rows -> rows
    | Error why -> skipped ~situation why
  in
  {
    name = situation;
    doc = "quotas of 1.25, 1.5 and 1.75 CPUs, against the better of 1 and 2 workers that stay";
    rows = (fun options -> List.concat_map (rows_under options) [ 1.25; 1.5; 1.75 ]);
  }

let changing =
  let situation = "neighbours-changing" in
  let rows options job =
    let seconds = if options.quick then 2. else 10. in
    let count = Muster.Cpu.available () in
    Neighbour.beside ~every:0.2 count (fun () ->
        [ against_fixed options ~situation ~detail:(string_of_int count) ~seconds job ])
  in
  {
    name = situation;
    doc =
      "beside busy processes, of which one comes or goes every 200 ms for 10 s, against the better \
       of 1 and 2 workers that stay";
    rows = (fun options -> for_each_job options ~situation (rows options));
  }

(* ---- Loops ---- *)

let rounds = 3

let loops options ~situation ~program ~detail arguments judge =
  attempt ~situation ~detail ~program (fun () ->
      let arguments = arguments @ [ string_of_int rounds ] in
      let sample = pooled options ~situation ~program arguments in
      let got, limit = judge (sample "parallel") (sample "sequential") in
      [ { Row.situation; detail; program; got; limit } ])

let product f names numbers =
  List.concat_map (fun (name, _) -> List.concat_map (f name) numbers) names

let tiny =
  let situation = "tiny-loops" in
  let rows options caller iterations =
    let detail = Printf.sprintf "%d iterations" iterations in
    let arguments = [ "tiny"; caller; string_of_int iterations ] in
    loops options ~situation ~program:("in " ^ caller) ~detail arguments (fun subject against ->
        (Row.More { subject; against }, Row.At_most 100.))
  in
  {
    name = situation;
    doc = "loops of 1 to 100 trivial iterations: what each costs more than a for loop";
    rows = (fun options -> product (rows options) Loops.callers [ 1; 2; 3; 10; 100 ]);
  }

(* A pause between two loops lets the workers fall asleep; to wake them may take longer
   than the loop, which therefore need not gain. *)
let sweep_limit body microseconds =
  if microseconds >= 20 && body <> "seldom" && Muster.Cpu.available () > 1 then Row.Below 1.
  else At_most 1.1

let sweep =
  let situation = "short-loops" in
  let rows options body microseconds =
    let detail = Printf.sprintf "%d us" microseconds in
    let arguments = [ "sweep"; body; string_of_int microseconds ] in
    loops options ~situation ~program:body ~detail arguments (fun subject against ->
        (Row.Ratio { subject; against }, sweep_limit body microseconds))
  in
  {
    name = situation;
    doc = "loops of 1 us to 100 us of work";
    rows = (fun options -> product (rows options) Loops.bodies [ 1; 2; 5; 10; 20; 50; 100 ]);
  }

(* ---- All CPUs ---- *)

(* On two CPUs half of the sequential time is possible. *)
let all_cpus =
  let situation = "all-cpus" in
  let least = 1. /. float_of_int (Int.min 2 (Muster.Cpu.available ())) in
  let rows options (wait, _) =
    loops options ~situation ~program:wait ~detail:"" [ "wait"; wait ] (fun subject against ->
        (Row.Ratio { subject; against }, At_most (1.1 *. least)))
  in
  {
    name = situation;
    doc = "tasks beside a main program that waits in some way";
    rows = (fun options -> List.concat_map (rows options) Waits.waits);
  }

(* ---- What an idle pool costs ---- *)

let after_parallel =
  let situation = "after-parallel" in
  let rows options (kind, _) =
    attempt ~situation ~program:kind (fun () ->
        let child program arguments () = time (Child.run program arguments) in
        let samples =
          in_turn options ~situation ~program:kind
            [
              ("without Muster", child Child.alone [ kind ]);
              ("with Muster", child Child.this [ "phase"; kind ]);
            ]
        in
        let sample name = List.assoc name samples in
        let subject = sample "with Muster" and against = sample "without Muster" in
        let got = Row.Ratio { subject; against } in
        [ { Row.situation; detail = ""; program = kind; got; limit = At_most 1.03 } ])
  in
  {
    name = situation;
    doc = "a sequential phase after a parallel one, against a program without Muster";
    rows = (fun options -> List.concat_map (rows options) Phase.all);
  }

let amount options ~situation ?(detail = "") ~limit arguments =
  let program = "default pool" in
  attempt ~situation ~detail ~program (fun () ->
      let sample = pooled options ~situation ~program arguments in
      let got = Row.Amount (sample "time") in
      [ { Row.situation; detail; program; got; limit = Below limit } ])

let idle_cpu =
  let situation = "idle-cpu" in
  let rows options = amount options ~situation ~limit:10e6 [ "idle-cpu"; "5" ] in
  { name = situation; doc = "CPU time of an idle pool over 5 s"; rows }

let await_cpu =
  let situation = "await-cpu" in
  let rows options = amount options ~situation ~limit:20e6 [ "await-cpu"; "2" ] in
  { name = situation; doc = "CPU time while main awaits a task that sleeps 2 s"; rows }

let first_region =
  let situation = "first-region" in
  let rows options (detail, after, times, limit) =
    let arguments = [ "first-region"; string_of_float after; string_of_int times ] in
    amount options ~situation ~detail:("after " ^ detail) ~limit arguments
  in
  let pauses = [ ("1 ms", 1e-3, 101, 30e3); ("100 ms", 0.1, 11, 100e3); ("10 s", 10., 1, 2e6) ] in
  {
    name = situation;
    doc = "the first Team.broadcast after 1 ms, 100 ms and 10 s of idleness";
    rows = (fun options -> List.concat_map (rows options) pauses);
  }

let quiet_bars =
  let situation = "quiet-bars" in
  let rows options =
    match options.before with
    | None -> skipped ~situation "needs --before, see bench/README.md"
    | Some before ->
      attempt ~situation ~program:"" (fun () ->
          Earlier.rows ~situation ~repeat:options.repeat ~before)
  in
  {
    name = situation;
    doc = "what bench/ measures of the pool, against an earlier version of it";
    rows;
  }

let all =
  [
    quiet;
    domains;
    pinned;
    quota;
    fractions;
    beside 1;
    beside 2;
    beside 4;
    changing;
    tiny;
    sweep;
    all_cpus;
    after_parallel;
    idle_cpu;
    await_cpu;
    first_region;
    quiet_bars;
  ]

let run options situation =
  let rows = situation.rows options in
  say_nothing ();
  rows
