module Closure = Muster_closure
module Pool = Muster.Pool
module Spectral_norm = Muster_examples.Spectral_norm

(* What is left to do when the input is there. Without a pool, [on] makes plain calls. *)
type twins = { alone : unit -> string; on : Pool.t option -> string }
type t = { name : string; prepare : unit -> twins }
type how = Sequential | Default | Asked of int | Fixed of int

let name job = job.name
let on_pool pool f = match pool with None -> f () | Some pool -> Pool.run pool f

(* ---- A fork at every call ---- *)

let fib =
  let n = 38 in
  let alone () = string_of_int (In_turn.fib n) in
  let on pool = string_of_int (on_pool pool (fun () -> Muster_examples.Fib.parallel n)) in
  { name = "fib"; prepare = (fun () -> { alone; on }) }

(* ---- Trees, built and dropped by every task ---- *)

type both = { both : 'a 'b. (unit -> 'a) -> (unit -> 'b) -> 'a * 'b }

let trees_per_task = 24

let rec forest both tasks =
  if tasks = 1 then Trees.build_and_drop trees_per_task
  else
    let half () = forest both (tasks / 2) in
    let a, b = both.both half half in
    a + b

let trees =
  let tasks = 256 in
  let alone () = string_of_int (forest { both = In_turn.both } tasks) in
  let on pool = string_of_int (on_pool pool (fun () -> forest { both = Muster.both } tasks)) in
  { name = "trees"; prepare = (fun () -> { alone; on }) }

(* ---- Loops over the rows of a matrix ---- *)

let spectral_norm =
  let n = 2048 in
  let alone () = Float.to_string (Spectral_norm.sequential n) in
  let on pool = Float.to_string (on_pool pool (fun () -> Spectral_norm.parallel n)) in
  { name = "spectral-norm"; prepare = (fun () -> { alone; on }) }

(* ---- A real job ---- *)

let fingerprint answer =
  let heaviest = List.map string_of_int (Closure.Answer.heaviest answer 1000) in
  Printf.sprintf "%d edges, %d unmet, heaviest: %s" (Closure.Answer.edges answer)
    (Closure.Answer.unmet answer) (String.concat " " heaviest)

let closure =
  let packages = 50_000 in
  let prepare () =
    let texts = [ Closure.Generate.index ~packages ] in
    let meter = Closure.Meter.create "closure" in
    let alone () = fingerprint (Closure.Sequential.run meter texts) in
    let on pool =
      let pool = match pool with None -> Pool.default () | Some pool -> pool in
      fingerprint (Closure.Parallel.run pool meter texts)
    in
    { alone; on }
  in
  { name = "closure"; prepare }

let all = [ fib; trees; spectral_norm; closure ]

(* ---- Running one ---- *)

let label = function
  | Sequential -> "sequential"
  | Default -> "default"
  | Asked domains -> string_of_int domains
  | Fixed domains -> Printf.sprintf "fixed-%d" domains

let fixed_prefix = "fixed-"

let of_fixed_label text =
  let from = String.length fixed_prefix in
  if String.starts_with ~prefix:fixed_prefix text then
    let digits = String.sub text from (String.length text - from) in
    Option.map (fun domains -> Fixed domains) (int_of_string_opt digits)
  else None

let of_label = function
  | "sequential" -> Some Sequential
  | "default" -> Some Default
  | text -> (
    match int_of_string_opt text with
    | Some domains -> Some (Asked domains)
    | None -> of_fixed_label text)

let start { alone; on } = function
  | Sequential -> alone
  | Default -> fun () -> on None
  | Asked domains ->
    let pool = Pool.create ~name:"never" ~domains () in
    fun () -> on (Some pool)
  | Fixed domains ->
    let pool = Pool.create ~name:"never" ~domains ~oversubscribe:true () in
    fun () -> on (Some pool)

let run job how ~seconds =
  let twins = job.prepare () in
  Gc.full_major ();
  let answer = ref "" and runs = ref 0 in
  let began = Clock.now () in
  let work = start twins how in
  while !runs = 0 || Clock.now () -. began < seconds *. 1e9 do
    answer := work ();
    incr runs
  done;
  let time = (Clock.now () -. began) /. float_of_int !runs in
  [ ("time", [ time ]); ("answer", [ float_of_int (Hashtbl.hash !answer) ]) ]
