open Harness
module Task = Muster.Task

(* [play runs ~before ~after sides] runs each of the sides so often, all at once. *)
type way = {
  name : string;
  fewer : int;  (** runs than domains have, by this factor, ... *)
  more : int;  (** ... and more programs *)
  pause : unit -> unit;  (** before a command *)
  within : (unit -> unit) -> unit;  (** all programs *)
  play : int -> before:(int -> unit) -> after:(int -> unit) -> (int -> unit) list -> unit;
}

let here f = f ()

let domains =
  let play runs ~before ~after sides = Rounds.race_exactly ~before ~after runs sides in
  { name = "domains"; fewer = 1; more = 1; pause = ignore; within = here; play }

(* All begin together, or nearly: who has to wait long for the others goes on. *)
let together sides =
  let here = Atomic.make 0 and all = List.length sides in
  let begin_with side round =
    Atomic.incr here;
    Rounds.relax_until ~turns:200 (fun () -> Atomic.get here >= all);
    side round
  in
  (List.map begin_with sides, fun () -> Atomic.set here 0)

let each_time at_once runs ~before ~after sides =
  let sides, again = together sides in
  for round = 1 to runs do
    again ();
    before round;
    at_once (List.map (fun side () -> side round) sides);
    after round
  done

let in_threads jobs =
  let jobs = Array.of_list jobs in
  ignore (Harness.in_threads (Array.length jobs) (fun i -> jobs.(i) ()))

let threads =
  {
    name = "threads";
    fewer = 20;
    more = 2;
    pause = Thread.yield;
    within = here;
    play = each_time in_threads;
  }

let in_tasks jobs = List.iter Task.await (List.map Task.async jobs)

let tasks workers =
  let name = Printf.sprintf "tasks of %d worker%s" workers (if workers = 1 then "" else "s") in
  (* One worker does the same in every run. *)
  let fewer, more = if workers = 1 then (100, 8) else (10, 2) in
  { name; fewer; more; pause = ignore; within = run_on workers; play = each_time in_tasks }

let mixed =
  let rec at_once = function
    | in_task :: in_thread :: others ->
      let others = List.map (fun job -> Domain.spawn (fun () -> outcome job)) others in
      let thread = ref (Ok ()) in
      let id = Thread.create (fun () -> thread := outcome in_thread) () in
      let task = outcome (fun () -> run_in_task in_task) in
      Thread.join id;
      List.iter (Result.iter_error raise) (task :: !thread :: List.map Domain.join others)
    | jobs -> in_threads jobs
  and run_in_task job = Task.await (Task.async job) in
  {
    name = "a task, a thread, a domain";
    fewer = 10;
    more = 1;
    pause = ignore;
    within = run_on 2;
    play = each_time at_once;
  }

let everywhere = [ domains; threads; tasks 1; tasks 3; mixed ]

(* {2 Cases} *)

let times = Rounds.times

(* A minute, and more for the long form. *)
let case ?(seconds = 60) name f = Harness.case ~seconds:(seconds + (5 * times 1)) name f

let test ?seconds ?(within = here) make ~name =
  let run () =
    let _, _, run = QCheck_alcotest.to_alcotest ~verbose:false (make ()) in
    run ()
  in
  case ?seconds name (fun () -> within run)

let enough_seconds = 0.4

module Make (Spec : Program.Spec) = struct
  module P = Program.Make (Spec)
  module Alone = STM_sequential.Make (Spec)

  type trial = {
    sut : Spec.sut;
    clock : int Atomic.t option;
    first : P.seen list;
    sides : P.seen list array;
  }

  (* Every other run has a clock. *)
  let begin_trial (program : P.t) round =
    let sut = Spec.init_sut () in
    let clock = if round land 1 = 0 then None else Some (Atomic.make 0) in
    let first = P.observe ~clock sut program.first in
    { sut; clock; first; sides = Array.map (fun _ -> []) (Array.of_list program.sides) }

  let end_trial { sut; clock; first; sides } =
    let last = P.observe ~clock sut Spec.last in
    Spec.cleanup sut;
    let sides = Array.to_list sides in
    if not (P.explains ~first ~sides ~last) then
      failf "no order explains\n%s" (P.to_string ~first ~sides ~last)

  let holds way runs (program : P.t) =
    let trial = ref None in
    let current () = Option.get !trial in
    let side i cmds _ =
      let { sut; clock; sides; _ } = current () in
      sides.(i) <- P.observe ~pause:way.pause ~clock sut cmds
    in
    way.play
      (max 2 (runs / way.fewer))
      ~before:(fun round -> trial := Some (begin_trial program round))
      ~after:(fun _ -> end_trial (current ()))
      (List.mapi side program.sides);
    true

  (* What fails once in so many runs may not fail again while QCheck makes it smaller. A machine that
     is busy with other things takes longer: then there are fewer programs. *)
  let at_once name ~programs ~runs way =
    let name = Printf.sprintf "%s, %s" name way.name in
    let make () =
      let stop = Unix.gettimeofday () +. (float (times 1) *. enough_seconds) in
      let has_failed = ref false in
      let law program =
        (Unix.gettimeofday () > stop && not !has_failed)
        ||
          try holds way runs program
          with exn ->
            has_failed := true;
            raise exn
      in
      QCheck.Test.make ~count:(times (programs * way.more)) ~retries:3 ~name P.arbitrary law
    in
    test ~within:way.within make ~name

  let alone name =
    let name = name ^ ", alone" in
    let make () = QCheck.Test.make ~count:(times 100) ~name P.arbitrary_alone Alone.agree_prop in
    test make ~name

  let cases ?(programs = 40) ?(runs = 200) name ways =
    alone name :: List.map (at_once name ~programs ~runs) ways
end
