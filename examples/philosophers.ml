(* Dijkstra's dining philosophers: each needs the forks on both sides of the plate. A philosopher
   who waits for a fork is suspended. So there may be many more philosophers than domains, and a
   philosopher may hold one fork while waiting for the other. All of them take the fork with the
   smaller number first, so they never wait for each other in a circle. *)

open Muster

type table = { forks : Mutex.t array; meals : int array }

let set_for n = { forks = Array.init n (fun _ -> Mutex.create ()); meals = Array.make n 0 }

(* To eat is to wait for a task of one's own, with both forks in hand. *)
let eat table philosopher =
  let chew = Task.async (fun () -> table.meals.(philosopher) + 1) in
  table.meals.(philosopher) <- Task.await chew

let dine table philosopher =
  let right = (philosopher + 1) mod Array.length table.forks in
  let first = min philosopher right and second = max philosopher right in
  Mutex.protect table.forks.(first) (fun () ->
      Mutex.protect table.forks.(second) (fun () -> eat table philosopher))

let philosophers = 100
let total table = Array.fold_left ( + ) 0 table.meals

let sequential n =
  let meals = Array.make philosophers 0 in
  for meal = 1 to n do
    let philosopher = meal mod philosophers in
    meals.(philosopher) <- meals.(philosopher) + 1
  done;
  Array.fold_left ( + ) 0 meals

let parallel n =
  let table = set_for philosophers in
  let dinner philosopher () =
    let extra = if philosopher < n mod philosophers then 1 else 0 in
    for _ = 1 to (n / philosophers) + extra do
      dine table philosopher
    done
  in
  ignore (Task.all (List.init philosophers dinner));
  total table

let rows n =
  [
    Example.row "100 philosophers"
      ~shows:
        "The parallel program is expected to be slower: a meal is one addition, and each takes two \
         locks and a task. The line shows that nobody starves or deadlocks."
      ~show:string_of_int
      ~sequential:(fun () -> sequential n)
      ~parallel:(fun _ -> parallel n);
  ]

let example =
  let size = Example.size ~max:100_000_000 ~default:1_000_000 "Serve $(docv) meals." in
  Example.command ~name:"philosophers" ~doc:"dining philosophers, on mutexes that suspend" ~size
    (Cmdliner.Term.const rows)
