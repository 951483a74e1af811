(* Parties that wait for each other, or keep each other out. Each call takes the results that its
   parties bring, and gives them back in order; what a party sees that it must not see is a
   failure. All parties of a call are tasks of one scope, so a cancellation stops them together. But a part
   of the graph may have caught it in a party, which goes on then, as one that is told no more; so who sends,
   receives or brings them together closes what others would wait at for ever. *)

open Muster
module Array = Stdlib.Array
module List = Stdlib.List

let fork_all s fs = List.iter (fun f -> ignore (Task.fork s f)) fs
let check what holds = if not holds then failwith (what ^ ": not as it should be")

(* Results of tasks, exceptions too, but not a cancellation of one's own. *)
let outcome f =
  match f () with
  | v -> Ok v
  | exception (Task.Cancelled as exn) -> raise exn
  | exception exn -> Error exn

let value_of = function Ok v -> v | Error exn -> raise exn

(* {2 Channels} *)

let closing channels f = Fun.protect f ~finally:(fun () -> List.iter Chan.close channels)

let pipeline ~bound stages fs =
  let chan _ = Option.fold bound ~none:(Chan.unbounded ()) ~some:Chan.bounded in
  let first = chan () and outputs = List.map chan stages in
  let produce () =
    closing [ first ] (fun () -> List.iter (fun f -> Chan.send first (outcome f)) fs)
  in
  let extend s input (step, output) =
    let pass v = Chan.send output (Result.map step v) in
    fork_all s [ (fun () -> closing [ input; output ] (fun () -> Chan.iter pass input)) ];
    output
  in
  Task.scope (fun s ->
      closing (first :: outputs) (fun () ->
          fork_all s [ produce ];
          let last = List.fold_left (extend s) first (List.combine stages outputs) in
          List.of_seq (Chan.to_seq last)))
  |> List.map value_of

(* Each has a channel of its own, of any bound. *)
let selected fs =
  let chans = List.mapi (fun i _ -> Chan.bounded (i mod 3)) fs in
  let received = Array.make (List.length fs) None in
  let rec receive = function
    | [] -> ()
    | waiting ->
      let case (i, chan) =
        Chan.recv_case chan (fun v ->
            received.(i) <- Some v;
            i)
      in
      let i = Chan.select (List.map case waiting) in
      receive (List.remove_assoc i waiting)
  in
  Task.scope (fun s ->
      closing chans (fun () ->
          List.iter2 (fun f chan -> fork_all s [ (fun () -> Chan.send chan (outcome f)) ]) fs chans;
          receive (List.mapi (fun i chan -> (i, chan)) chans)));
  List.map (fun v -> value_of (Option.get v)) (Array.to_list received)

(* {2 One after the other} *)

(* [party cells i v], for each result; all write their cell. *)
let parties values party =
  let cells = Array.make (List.length values) min_int in
  Task.scope (fun s -> fork_all s (List.mapi (fun i v () -> party cells i v) values));
  Array.to_list cells

let mutex values =
  let m = Mutex.create () and inside = ref 0 in
  parties values (fun cells i v ->
      Mutex.protect m (fun () ->
          incr inside;
          check "mutex" (!inside = 1);
          cells.(i) <- v;
          decr inside))

let semaphore values =
  let permits = Semaphore.make 2 and inside = Atomic.make 0 in
  parties values (fun cells i v ->
      Semaphore.with_permit permits (fun () ->
          check "semaphore" (Atomic.fetch_and_add inside 1 < 2);
          cells.(i) <- v;
          Atomic.decr inside))

(* Two plain counters that are equal wherever nobody writes. *)
let rwlock values =
  let lock = Rwlock.create () and before = ref 0 and after = ref 0 in
  let read () = Rwlock.protect_read lock (fun () -> check "rwlock" (!before = !after)) in
  parties values (fun cells i v ->
      read ();
      Rwlock.protect_write lock (fun () ->
          incr before;
          cells.(i) <- v;
          incr after);
      read ())

(* {2 All together} *)

let all_are_there what cells = check what (not (Array.mem min_int cells))

let barrier values =
  let meeting = Barrier.create (max 1 (List.length values)) in
  parties values (fun cells i v ->
      cells.(i) <- v;
      Barrier.await meeting;
      all_are_there "barrier" cells)

let latch values =
  let latch = Latch.create (List.length values) in
  parties values (fun cells i v ->
      cells.(i) <- v;
      Latch.count_down latch;
      Latch.await latch;
      all_are_there "latch" cells)

let condition values =
  let m = Mutex.create ()
  and all_came = Condition.create ()
  and missing = ref (List.length values) in
  parties values (fun cells i v ->
      Mutex.protect m (fun () ->
          cells.(i) <- v;
          decr missing;
          if !missing = 0 then Condition.broadcast all_came;
          while !missing > 0 do
            Condition.wait all_came m
          done);
      all_are_there "condition" cells)

(* Each is forced by two, and computed once. *)
let lazies fs =
  let computed = Atomic.make 0 in
  let lazies =
    List.map
      (fun f ->
        Lazy.from_fun (fun () ->
            Atomic.incr computed;
            outcome f))
      fs
  in
  let force l () = ignore (Lazy.force l) in
  Task.scope (fun s ->
      fork_all s (List.map force lazies);
      List.iter (fun l -> force l ()) lazies);
  check "lazy" (Atomic.get computed >= List.length fs);
  List.map (fun l -> value_of (Lazy.force l)) lazies

(* [values] runs them all. *)
let meet ~values (meeting : Graph.meeting) fs =
  match meeting with
  | Lazy -> lazies fs
  | Mutex -> mutex (values fs)
  | Semaphore -> semaphore (values fs)
  | Rwlock -> rwlock (values fs)
  | Barrier -> barrier (values fs)
  | Latch -> latch (values fs)
  | Condition -> condition (values fs)
