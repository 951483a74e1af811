(* Random task graphs from several callers at once on one pool, each checked against its
   sequential worth, until the time is up. *)

module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team
module Oracle = Graph.Value (Graph.Sequential)

module type POOLS = sig
  val pool : Pool.t
  val other : Pool.t
end

(* Each domain of the program slows every minor collection of all the others. *)
let domains_left = Atomic.make 3

let in_domain_if_any_is_left f =
  if Atomic.fetch_and_add domains_left (-1) > 0 then
    Fun.protect
      ~finally:(fun () -> Atomic.incr domains_left)
      (fun () -> Harness.in_domain f)
  else begin
    Atomic.incr domains_left;
    f ()
  end

module Parallel (P : POOLS) : Graph.RUNNER = struct
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
      Task.scope (fun s ->
          List.map Task.await (List.map (fun f -> Task.fork s (within f)) thunks))
    in
    List.map (function Ok v -> v | Error exn -> raise exn) results

  let deadline f = Task.with_deadline 3600. f

  let cancel ~early victim rest =
    let task = Task.async victim in
    if early then Task.cancel task;
    Fun.protect rest ~finally:(fun () ->
        Task.cancel task;
        match Task.await task with
        | _ | (exception (Task.Cancelled | Graph.Boom _)) -> ())
  let first = Task.first
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
  let in_domain f = in_domain_if_any_is_left (fun () -> Pool.run P.pool f)
  let in_thread f = Harness.in_thread f
  let below_c f = Harness.call_through_c f
end

(* Callers *)

type verdict = {
  graphs : int Atomic.t;
  failure : string option Atomic.t;
  seed : int;
  stop : float;
}

let has_to_stop v = Option.is_some (Atomic.get v.failure) || Unix.gettimeofday () > v.stop

let show = function
  | Ok n -> string_of_int n
  | Error e -> Printexc.to_string e

let fail v ~caller ~round graph ~ours ~theirs =
  let message =
    Printf.sprintf "seed %d, caller %d, graph %d: %s, should be %s\n%s" v.seed caller round
      (show ours) (show theirs) (Graph.to_string graph)
  in
  ignore (Atomic.compare_and_set v.failure None (Some message))

let progress_limit = 60

let keep_guard v =
  let message =
    Printf.sprintf "no graph has ended for %d s, seed %d\n" progress_limit v.seed
  in
  Harness.set_guard progress_limit message

let check v value ~caller ~round =
  let graph = 
    Graph.random (Random.State.make [| v.seed; caller; round |]) ~blocked:(v.seed land 1 = 0)
  in
  let theirs = Harness.outcome (fun () -> Oracle.value graph) in
  let ours = Harness.outcome (fun () -> value graph) in
  if ours <> theirs then fail v ~caller ~round graph ~ours ~theirs;
  Atomic.incr v.graphs;
  keep_guard v

let call v value caller =
  let rec loop round =
    if not (has_to_stop v) then begin
      check v value ~caller ~round;
      loop (round + 1)
    end
  in
  loop 0

(* The main domain and a second one run graphs within the pool, a systhread of each runs them
   on whatever pool is current there. *)
let call_from_everywhere v ~pool value =
  let within caller = Pool.run pool (fun () -> call v value caller) in
  let domain caller =
    Domain.spawn (fun () ->
        let thread = Thread.create (call v value) (caller + 1) in
        within caller;
        Thread.join thread)
  in
  let second = domain 2 in
  let thread = Thread.create (call v value) 1 in
  within 0;
  Thread.join thread;
  Domain.join second

let stress v domains =
  Harness.with_domains domains @@ fun pool ->
  Harness.with_domains 2 @@ fun other ->
  let module Runner = Parallel (struct
    let pool = pool
    let other = other
  end) in
  let module Ours = Graph.Value (Runner) in
  call_from_everywhere v ~pool Ours.value

let main seconds seed domains =
  Printf.printf "seed %d, %d domains, %g s\n%!" seed domains seconds;
  (* Tasks behind one that failed are begun and never awaited. *)
  Task.set_uncaught_handler (fun _ _ -> ());
  let stop = Unix.gettimeofday () +. seconds in
  let v = { graphs = Atomic.make 0; failure = Atomic.make None; seed; stop } in
  keep_guard v;
  stress v domains;
  match Atomic.get v.failure with
  | None -> Printf.printf "%d graphs, every answer right\n%!" (Atomic.get v.graphs)
  | Some message ->
      prerr_endline message;
      exit 1

let command =
  let open Cmdliner in
  let seconds = Arg.(value & opt float 10. & info [ "seconds" ] ~doc:"Running time.") in
  let any_seed = int_of_float (Unix.gettimeofday () *. 1e3) mod 1_000_000 in
  let seed = Arg.(value & opt int any_seed & info [ "seed" ] ~doc:"The graphs' seed.") in
  let domains = Arg.(value & opt int 3 & info [ "domains" ] ~doc:"The pool's size.") in
  let doc = "random task graphs against their sequential answers" in
  Cmd.v (Cmd.info "stress" ~doc) Term.(const main $ seconds $ seed $ domains)

let () = exit (Cmdliner.Cmd.eval command)
