(* async and await, from anywhere. *)

open Domainslib
open Harness
open Pools

let fib pool = Fib.by_tasks ~async:(Task.async pool) ~await:(Task.await pool)

let forks pool = check_int "fib" 6765 (Task.run pool (fun () -> fib pool 20))

(* Random graphs: a task awaits some of those before it. *)

let graph =
  let open QCheck.Gen in
  let edges i = if i = 0 then return [] else list_size (int_range 0 3) (int_range 0 (i - 1)) in
  int_range 1 40 >>= fun n -> (flatten_l (List.init n edges) [@alert "-deprecated"])

let print_graph = QCheck.Print.(list (list int))

let value_of_graph run_node awaits edges =
  let nodes = Array.make (List.length edges) None in
  List.iteri
    (fun i before ->
      let others = List.map (fun j -> Option.get nodes.(j)) before in
      nodes.(i) <-
        Some (run_node (fun () -> List.fold_left (fun sum p -> sum + awaits p) (i + 1) others)))
    edges;
  Array.to_list (Array.map (fun node -> awaits (Option.get node)) nodes)

let sequential_value = value_of_graph (fun f -> f ()) Fun.id

let agrees ~inside num_domains =
  let where = if inside then "in run" else "outside" in
  let name = Printf.sprintf "random graphs of tasks %s, %d" where num_domains in
  let law edges =
    with_pool num_domains @@ fun pool ->
    let value () = value_of_graph (Task.async pool) (Task.await pool) edges in
    (if inside then Task.run pool value else value ()) = sequential_value edges
  in
  let test = QCheck.Test.make ~count:50 ~name (QCheck.make ~print:print_graph graph) law in
  let _, _, run = QCheck_alcotest.to_alcotest test in
  case name run

(* {2 Outside of run} *)

let all_of_it pool =
  let start = 1 and finish = 1000 in
  let sum = Atomic.make 0 in
  check_int "fib" 610 (fib pool 15);
  Task.parallel_for pool ~start ~finish ~body:(fun i -> ignore (Atomic.fetch_and_add sum i));
  check_int "for" 500_500 (Atomic.get sum);
  check_int "reduce" 500_500 (Task.parallel_for_reduce pool ( + ) 0 ~start ~finish ~body:Fun.id);
  check_int "scan" 500_500 (Task.parallel_scan pool ( + ) (Array.init 1000 succ)).(999);
  check_equal "find" (Some 700)
    (Task.parallel_find pool ~start ~finish ~body:(fun i -> if i = 700 then Some i else None));
  check_raises "exception" Exit (fun () -> Task.await pool (Task.async pool (fun () -> raise Exit)))

(* More domains than the pool was made for, all at once, and threads of theirs. *)
let from_many_domains pool =
  let somebody () =
    for _ = 1 to 5 do
      all_of_it pool
    done
  in
  let domains = List.init 4 (fun _ -> Domain.spawn (fun () -> outcome somebody)) in
  let mine = outcome somebody in
  List.iter
    (fun result -> check_equal "outcome" (Ok ()) result)
    (mine :: List.map Domain.join domains)

let from_many_threads pool = ignore (in_threads 4 (fun _ -> all_of_it pool))
let below_c pool = call_through_c (fun () -> all_of_it pool)
let in_a_task_below_c pool = Task.run pool (fun () -> call_through_c (fun () -> all_of_it pool))

type _ Effect.t += Ask : int Effect.t

(* An effect of the program's own, with a handler around. *)
let below_a_handler pool =
  let open Effect.Deep in
  let sum =
    match_with
      (fun () ->
        all_of_it pool;
        Effect.perform Ask)
      ()
      {
        retc = Fun.id;
        exnc = raise;
        effc =
          (fun (type a) (eff : a Effect.t) ->
            match eff with Ask -> Some (fun (k : (a, _) continuation) -> continue k 4) | _ -> None);
      }
  in
  check_int "answer" 4 sum

(* {2 Results and exceptions} *)

let is_awaited_by_many pool =
  let p =
    Task.async pool (fun () ->
        Unix.sleepf 0.02;
        6)
  in
  let others = List.init 20 (fun _ -> Task.async pool (fun () -> Task.await pool p)) in
  List.iter (fun other -> check_int "result" 6 (Task.await pool other)) others;
  check_int "again" 6 (Task.await pool p)

exception Boom of int

let exceptions_come_out_where_awaited pool =
  Task.run pool (fun () ->
      let inner = Task.async pool (fun () -> raise (Boom 1)) in
      let outer = Task.async pool (fun () -> Task.await pool inner) in
      for _ = 1 to 2 do
        check_raises "outer" (Boom 1) (fun () -> Task.await pool outer);
        check_raises "inner" (Boom 1) (fun () -> Task.await pool inner)
      done);
  check_int "still works" 6765 (Task.run pool (fun () -> fib pool 20))

let[@inline never] origin () = raise (Boom __LINE__)

let backtraces_lead_to_the_origin pool =
  Printexc.record_backtrace true;
  let line = match origin () with exception Boom line -> line | _ -> assert false in
  check_raises_with_origin ~file:"tasks.ml" ~line "await" (fun () ->
      Task.run pool (fun () -> Task.await pool (Task.async pool (fun () -> origin () + 0))))

let on = on_pools [ 0; 1; 7 ]

let cases =
  [
    case "tasks fork and join" (on forks);
    agrees ~inside:true 0;
    agrees ~inside:true 1;
    agrees ~inside:true 7;
    agrees ~inside:false 1;
    case "everything works outside of run" (on all_of_it);
    case "everything works from many domains at once" (on from_many_domains);
    case "everything works from threads" (on from_many_threads);
    case "everything works below a C callback" (on below_c);
    case "everything works in a task below a C callback" (on in_a_task_below_c);
    case "everything works below another effect handler" (on below_a_handler);
    case "many may await one promise" (on is_awaited_by_many);
    case "each await raises the exception" (on exceptions_come_out_where_awaited);
    case "backtraces lead to the origin" (on backtraces_lead_to_the_origin);
  ]
