(* Runs graphs with the library. *)

module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team

module type POOLS = sig
  val pool : Pool.t
  val other : Pool.t
  val ported : Domainslib.Task.pool
end

external kernel : dynamic:bool -> int -> int = "stress_kernel"

let in_domain f = Meetings.value_of (Domain.join (Domain.spawn (fun () -> Harness.outcome f)))

(* [special f] while there are tokens, else [f ()]. *)
let within tokens special f =
  if Atomic.fetch_and_add tokens (-1) > 0 then
    Fun.protect ~finally:(fun () -> Atomic.incr tokens) (fun () -> special f)
  else begin
    Atomic.incr tokens;
    f ()
  end

(* What joins a thread or a domain, or closes a pool, keeps its worker; so one at a time. *)
let joins = Atomic.make 1

(* How many graphs of each kind were run. *)
let counts = Atomic.make []

let rec count name =
  let known = Atomic.get counts in
  match List.assoc_opt name known with
  | Some n -> n
  | None ->
    ignore (Atomic.compare_and_set counts known ((name, Atomic.make 0) :: known));
    count name

(* The same sum by each; accumulators are changed. *)
let sum_in_parts a =
  let open Muster.Parallel in
  let init () = ref 0 in
  let add sum x =
    sum := !sum + x;
    sum
  in
  let combine sum other = add sum !other in
  let sum = !(Array.fold_parts ~init ~add ~combine a) in
  let listed = !(List.fold_parts ~init ~add ~combine (Array.to_list a)) in
  let mapped = Seq.map_reduce ~combine:( + ) ~init:0 Fun.id (Array.to_seq a) in
  if listed = sum && mapped = sum then sum else failwith "sums differ"

let with_states a =
  let module Parallel = Muster.Parallel in
  let init () = ref 0 in
  let mapped = Array.make (Array.length a) 0 in
  let set state i =
    state := Worth.mix 5 a.(i);
    mapped.(i) <- !state
  in
  Muster.parallel_for_init ~start:0 ~finish:(Array.length a - 1) ~init set;
  let map state x =
    state := Worth.mix 5 x;
    !state
  in
  if Parallel.Array.map_init ~init map a = mapped then mapped else failwith "states differ"

let on_arrays (call : Graph.collection) a =
  let is_odd x = x land 1 = 1 in
  match call with
  | Map -> Muster.Parallel.Array.map (Worth.mix 5) a
  | Sort ->
    Muster.Parallel.Array.sort compare a;
    a
  | Filter -> Muster.Parallel.Array.filter is_odd a
  | Parts -> [| sum_in_parts a |]
  | With_state -> with_states a
  | Fold -> [| Muster.Parallel.Array.fold ( + ) 0 a |]
  | On_list -> Array.of_list (Muster.Parallel.List.map (Worth.mix 5) (Array.to_list a))
  | On_seq ->
    let mapped = Array.make (Array.length a) 0 in
    Muster.Parallel.Seq.iteri (fun i x -> mapped.(i) <- Worth.mix 5 x) (Array.to_seq a);
    mapped
  | On_bytes ->
    let letters = Muster.Parallel.Bytes.init (Array.length a) (fun i -> Worth.letter a.(i)) in
    let codes = Array.make (Array.length a) 0 in
    Muster.Parallel.Bytes.iteri (fun i c -> codes.(i) <- Char.code c) letters;
    codes

module Parallel (P : POOLS) : Worth.RUNNER = struct
  let both f g = Muster.both f g
  let async thunks = List.map Task.await (List.map Task.async thunks)

  let shared n f =
    let task = Task.async f in
    async (List.init n (fun _ () -> Task.await task))

  let all = Task.all

  (* The leftmost failure counts, which need not be the first in time. *)
  let scope thunks =
    let within f () = Harness.outcome f in
    let results =
      Task.scope (fun s -> List.map Task.await (List.map (fun f -> Task.fork s (within f)) thunks))
    in
    List.map Meetings.value_of results

  let deadline f = Task.with_deadline 3600. f

  (* What is cancelled ends in its own way: Closed is what a pipeline says that was cut. *)
  let stopped f =
    match f () with
    | _ -> ()
    | exception
        ( Task.Cancelled | Task.Deadline_exceeded | Worth.Boom _ | Muster.Chan.Closed
        | Fun.Finally_raised _ ) ->
      ()

  let cancel ~early victim rest =
    let task = Task.async victim in
    if early then Task.cancel task;
    Fun.protect rest ~finally:(fun () ->
        Task.cancel task;
        stopped (fun () -> Task.await task))

  let hurried f = stopped (fun () -> Task.with_deadline 2e-4 f)

  let dropped fs =
    stopped (fun () ->
        Task.scope (fun s ->
            Meetings.fork_all s fs;
            Domain.cpu_relax ();
            Task.cancel_scope s))

  let first = Task.first

  (* Any leaves the others alone: they are awaited here. *)
  let any fs =
    let tasks = List.map Task.async fs in
    let result = Harness.outcome (fun () -> Task.any tasks) in
    List.iter (fun t -> ignore (Harness.outcome (fun () -> Task.await t))) tasks;
    Meetings.value_of result

  let promised f =
    let promise, resolver = Muster.Promise.create () in
    let resolve () =
      match f () with
      | v -> Muster.Promise.resolve resolver v
      | exception exn ->
        let backtrace = Printexc.get_raw_backtrace () in
        Muster.Promise.fail ~backtrace resolver exn
    in
    let task = Task.async resolve in
    Fun.protect
      (fun () -> Task.await promise)
      ~finally:(fun () -> ignore (Harness.outcome (fun () -> Task.await task)))

  let number = Task.local 0

  let named n f =
    let inherits () = Task.get_local number in
    Task.with_local number n (fun () ->
        let inner = Task.async inherits in
        let v = f () in
        if Task.await inner <> n || inherits () <> n then failwith "another value";
        v)

  let for_ ~grain count f = Muster.parallel_for ?grain ~start:0 ~finish:(count - 1) f

  let reduce ~grain count combine init f =
    Muster.parallel_reduce ?grain ~start:0 ~finish:(count - 1) ~combine ~init f

  let find count f = Muster.parallel_find ~start:0 ~finish:(count - 1) f
  let scan = Muster.parallel_scan

  let slice f ~worker:_ ~start ~count =
    for i = start to start + count - 1 do
      f i
    done

  (* Worker [w] of a broadcast takes the indices of an even share. *)
  let broadcast count f =
    let size = Pool.size P.pool in
    let share worker = worker * count / size in
    Team.broadcast P.pool (fun worker ->
        let start = share worker in
        slice f ~worker ~start ~count:(share (worker + 1) - start))

  let team (team : Graph.team) count f =
    match team with
    | For_n -> Team.for_n P.pool count (fun ~worker:_ i -> f i)
    | For_n_dynamic -> Team.for_n_dynamic P.pool count (fun ~worker:_ i -> f i)
    | For_slices -> Team.for_slices P.pool count (slice f)
    | Broadcast -> broadcast count f

  let run f = Pool.run P.pool f
  let elsewhere f = Pool.run P.other f
  let in_domain f = within joins in_domain (fun () -> Pool.run P.pool f)
  let in_thread f = within joins Harness.in_thread f
  let below_c f = Harness.call_through_c f
  let fresh f = within joins (Harness.run_on 2) f

  let ported fs =
    let open Domainslib.Task in
    run P.ported (fun () -> List.map (await P.ported) (List.map (async P.ported) fs))

  let pipeline = Meetings.pipeline
  let call f = f ()
  let bounded ~max fs = Task.map ~max call fs
  let windowed ~window fs = Task.with_map ~window call (List.to_seq fs) List.of_seq
  let selected = Meetings.selected
  let meeting = Meetings.meet ~values:scope

  let blocking f =
    Task.blocking (fun () ->
        Thread.yield ();
        Unix.sleepf 1e-5;
        f ())

  let kernel = kernel
  let collection = on_arrays
  let fault = Trouble.cause
  let note graph = Atomic.incr (count (Graph.name graph))
end
