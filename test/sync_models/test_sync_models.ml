(* Random programs on a lock, one part alone and then two at once: their results must be those of
   some sequential order of the same commands on a model. The two run on domains of their own, and
   as tasks of a pool. *)

open STM
open Harness

module Check (Spec : Spec) = struct
  module Alone = STM_sequential.Make (Spec)
  module At_once = STM_domain.Make (Spec)

  let in_tasks domains (first, left, right) =
    run_on domains @@ fun () ->
    let sut = Spec.init_sut () in
    let observed = At_once.interp_sut_res sut first in
    let start cmds = Muster.Task.async (fun () -> At_once.interp_sut_res sut cmds) in
    let left = start left and right = start right in
    let left = Muster.Task.await left and right = Muster.Task.await right in
    Spec.cleanup sut;
    At_once.check_obs observed left right Spec.init_state

  (* Each program several times: how it goes is up to the machine. *)
  let test name runs =
    let holds triple =
      QCheck.assume (At_once.all_interleavings_ok triple);
      let rec again n = n = 0 || (runs triple && again (n - 1)) in
      again 5
    in
    QCheck.Test.make ~count:40 ~name (At_once.arb_cmds_triple 6 5) holds

  let tests =
    List.map (QCheck_alcotest.to_alcotest ~verbose:false)
      [
        Alone.agree_test ~count:200 ~name:"alone";
        test "two domains" At_once.agree_prop_par;
        test "two tasks of 1 worker" (in_tasks 1);
        test "two tasks of 3 workers" (in_tasks 3);
      ]
end

let any choices =
  QCheck.make QCheck.Gen.(map (List.nth choices) (int_bound (List.length choices - 1)))
let refused f = match f () with () -> false | exception Invalid_argument _ -> true

(* A mutex around a counter. Who finds it taken need not have it, so [Try] may fail at any time. *)
module Mutex_spec = struct
  open Muster

  type cmd = Count | Try_to_read | Relock | Unlock_unheld
  type state = int
  type sut = { mutex : Mutex.t; mutable counter : int }

  let show_cmd = function
    | Count -> "Count"
    | Try_to_read -> "Try_to_read"
    | Relock -> "Relock"
    | Unlock_unheld -> "Unlock_unheld"

  let arb_cmd _ = QCheck.set_print show_cmd (any [ Count; Try_to_read; Relock; Unlock_unheld ])
  let init_state = 0
  let next_state cmd n = match cmd with Count -> n + 1 | _ -> n
  let init_sut () = { mutex = Mutex.create (); counter = 0 }
  let cleanup sut = assert (Mutex.try_lock sut.mutex)
  let precond _ _ = true

  let count sut =
    let seen = sut.counter in
    Domain.cpu_relax ();
    sut.counter <- seen + 1;
    seen

  let relock sut =
    Mutex.protect sut.mutex (fun () -> refused (fun () -> Mutex.lock sut.mutex))

  let read_if_free sut =
    if Mutex.try_lock sut.mutex then begin
      let seen = sut.counter in
      Mutex.unlock sut.mutex;
      Some seen
    end
    else None

  let run cmd sut =
    match cmd with
    | Count -> Res (int, Mutex.protect sut.mutex (fun () -> count sut))
    | Try_to_read -> Res (option int, read_if_free sut)
    | Relock -> Res (bool, relock sut)
    | Unlock_unheld -> Res (bool, refused (fun () -> Mutex.unlock sut.mutex))

  let postcond cmd (n : state) res =
    match (cmd, res) with
    | Count, Res ((Int, _), seen) -> Int.equal seen n
    | Try_to_read, Res ((Option Int, _), seen) -> (match seen with None -> true | Some (seen : int) -> seen = n)
    | (Relock | Unlock_unheld), Res ((Bool, _), was_refused) -> was_refused
    | _ -> false
end

module Semaphore_spec = struct
  open Muster

  type cmd = Acquire | Try | Release | Get
  type state = int
  type sut = Semaphore.t

  let show_cmd = function
    | Acquire -> "Acquire"
    | Try -> "Try"
    | Release -> "Release"
    | Get -> "Get"

  let arb_cmd _ = QCheck.set_print show_cmd (any [ Acquire; Try; Release; Release; Get ])
  let init_state = 2

  let next_state cmd n =
    match cmd with Acquire -> n - 1 | Try -> max 0 (n - 1) | Release -> n + 1 | Get -> n

  let init_sut () = Semaphore.make init_state
  let cleanup _ = ()

  (* It never has to wait for ever, in any order. *)
  let precond cmd n = match cmd with Acquire -> n > 0 | Try | Release | Get -> true

  let run cmd s =
    match cmd with
    | Acquire -> Res (unit, Semaphore.acquire s)
    | Try -> Res (bool, Semaphore.try_acquire s)
    | Release -> Res (unit, Semaphore.release s)
    | Get -> Res (int, Semaphore.get_value s)

  let postcond cmd (n : state) res =
    match (cmd, res) with
    | (Acquire | Release), Res ((Unit, _), ()) -> true
    | Try, Res ((Bool, _), got) -> Bool.equal got (n > 0)
    | Get, Res ((Int, _), value) -> Int.equal value n
    | _ -> false
end

module Latch_spec = struct
  open Muster

  type cmd = Count_down | Await | Get
  type state = int
  type sut = Latch.t

  let show_cmd = function Count_down -> "Count_down" | Await -> "Await" | Get -> "Get"
  let arb_cmd _ = QCheck.set_print show_cmd (any [ Count_down; Count_down; Await; Get ])
  let init_state = 3
  let next_state cmd n = match cmd with Count_down -> max 0 (n - 1) | Await | Get -> n
  let init_sut () = Latch.create init_state
  let cleanup _ = ()
  let precond cmd n = match cmd with Await -> n = 0 | Count_down | Get -> true

  let run cmd l =
    match cmd with
    | Count_down -> Res (bool, refused (fun () -> Latch.count_down l))
    | Await -> Res (unit, Latch.await l)
    | Get -> Res (int, Latch.get_value l)

  let postcond cmd (n : state) res =
    match (cmd, res) with
    | Count_down, Res ((Bool, _), was_refused) -> Bool.equal was_refused (n = 0)
    | Await, Res ((Unit, _), ()) -> n = 0
    | Get, Res ((Int, _), value) -> Int.equal value n
    | _ -> false
end

(* Of two lazy values one fails; both tell how often they were computed. *)
module Lazy_spec = struct
  open Muster

  type cmd = Force | Is_val | Force_failing | Is_failing_val
  type state = bool  (** computed *)

  type sut = { value : int Lazy.t; failing : int Lazy.t }

  exception Failed of int

  let show_cmd = function
    | Force -> "Force"
    | Is_val -> "Is_val"
    | Force_failing -> "Force_failing"
    | Is_failing_val -> "Is_failing_val"

  let arb_cmd _ = QCheck.set_print show_cmd (any [ Force; Is_val; Force_failing; Is_failing_val ])
  let init_state = false
  let next_state cmd computed = computed || cmd = Force

  let init_sut () =
    let counter () = let runs = Atomic.make 0 in fun () -> 1 + Atomic.fetch_and_add runs 1 in
    let runs = counter () and failures = counter () in
    { value = Lazy.from_fun runs;
      failing = Lazy.from_fun (fun () -> raise (Failed (failures ()))) }

  let cleanup _ = ()
  let precond _ _ = true
  let failure l = match Lazy.force l with _ -> 0 | exception Failed n -> n

  let run cmd sut =
    match cmd with
    | Force -> Res (int, Lazy.force sut.value)
    | Is_val -> Res (bool, Lazy.is_val sut.value)
    | Force_failing -> Res (int, failure sut.failing)
    | Is_failing_val -> Res (bool, Lazy.is_val sut.failing)

  let postcond cmd (computed : state) res =
    match (cmd, res) with
    | (Force | Force_failing), Res ((Int, _), n) -> Int.equal n 1
    | Is_val, Res ((Bool, _), is_val) -> Bool.equal is_val computed
    | Is_failing_val, Res ((Bool, _), is_val) -> not is_val
    | _ -> false
end

module Mutex_check = Check (Mutex_spec)
module Semaphore_check = Check (Semaphore_spec)
module Latch_check = Check (Latch_spec)
module Lazy_check = Check (Lazy_spec)

let () =
  Alcotest.run "sync, against models"
    [
      ("mutex", Mutex_check.tests);
      ("semaphore", Semaphore_check.tests);
      ("latch", Latch_check.tests);
      ("lazy", Lazy_check.tests);
    ]
