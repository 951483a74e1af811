(* Domainslib's interface: tasks, loops whose bodies wait, channels, pools by name, and pools that are
   torn down while others use them. *)

open Rounds
module T = Domainslib.Task
module C = Domainslib.Chan

let with_pool num_domains f () =
  let pool = T.setup_pool ~num_domains () in
  f pool;
  T.teardown_pool pool

let n = 64
let cells = Array.make n 0
let all_are value = Array.for_all (fun cell -> cell = value) cells

let rec fib pool n =
  if n < 2 then ref n
  else
    let left = T.async pool (fun () -> fib pool (n - 1)) in
    let right = fib pool (n - 2) in
    ref (!(T.await pool left) + !right)

let tasks pool = repeat 200 (fun _ -> check "fib" (!(T.run pool (fun () -> fib pool 10)) = 55))

let tasks_of_several pool =
  let caller _ = check "fib" (!(T.run pool (fun () -> fib pool 7)) = 13) in
  race 200 [ caller; caller; caller ]

let loops pool =
  Array.fill cells 0 n 0;
  repeat 200 (fun round ->
      let body i =
        pauses 8;
        cells.(i) <- cells.(i) + 1
      in
      T.parallel_for ~start:0 ~finish:(n - 1) ~body pool;
      T.parallel_for ~chunk_size:4 ~start:0 ~finish:(n - 1) ~body pool;
      check "all cells" (all_are (2 * (round + 1)));
      let body i =
        pauses 8;
        ref cells.(i)
      and add a b = ref (!a + !b) in
      let sum = T.parallel_for_reduce ~start:0 ~finish:(n - 1) ~body pool add (ref 0) in
      check "the sum" (!sum = 2 * n * (round + 1)))

let scans pool =
  let ones = Array.init 2_000 (fun _ -> ref 1) in
  repeat 40 (fun _ ->
      let add a b =
        pauses 4;
        ref (!a + !b)
      in
      check "the last" (!((T.parallel_scan pool add ones).(1_999)) = 2_000))

let finds pool =
  repeat 200 (fun round ->
      let body i =
        pauses 16;
        if i >= n / 2 then Some (ref (round + i)) else None
      in
      match T.parallel_find ~start:0 ~finish:(n - 1) ~body pool with
      | Some found -> check "one of them" (!found >= round + (n / 2))
      | None -> check "found" false)

(* Bodies that wait for each other leave their stretches. *)
let bodies_wait pool =
  repeat 60 (fun round ->
      let chans = Array.init n (fun _ -> C.make_unbounded ()) in
      let body i =
        pauses 8;
        let message = ref (round + i) in
        C.send chans.(n - 1 - i) message;
        check "its partner's" (!(C.recv chans.(i)) = round + n - 1 - i);
        cells.(i) <- round
      in
      T.parallel_for ~chunk_size:1 ~start:0 ~finish:(n - 1) ~body pool;
      check "all cells" (all_are round))

exception Failed of int ref

let raises pool =
  repeat 200 (fun round ->
      let body i =
        pauses 16;
        if i >= 20 then raise (Failed (ref (round + i)))
      in
      match T.parallel_for ~chunk_size:1 ~start:0 ~finish:(n - 1) ~body pool with
      | () -> check "raises" false
      | exception Failed content -> check "the leftmost" (!content = round + 20))

let channels () =
  let chan = C.make_bounded 1 and got = [| 0; 0 |] in
  let send _ =
    for i = 1 to 2 do
      C.send chan (ref i)
    done
  in
  let receive i _ =
    for _ = 1 to 2 do
      got.(i) <- got.(i) + !(C.recv chan)
    done
  in
  race 1_000 [ send; send; receive 0; receive 1 ];
  check "each once" (got.(0) + got.(1) = 6 * times 1_000)

(* {2 More domains than CPUs: the watchdog calls them} *)

let tasks_meet () =
  let others = 5 and here = ref 0 in
  let mutex = Mutex.create () and all_here = Condition.create () in
  let meet () =
    Mutex.protect mutex (fun () ->
        incr here;
        if !here > others then Condition.broadcast all_here
        else
          while !here <= others do
            Condition.wait all_here mutex
          done)
  in
  for _ = 1 to 3 do
    here := 0;
    let pool = T.setup_pool ~num_domains:others () in
    T.run pool (fun () ->
        let tasks = List.init others (fun _ -> T.async pool meet) in
        meet ();
        List.iter (T.await pool) tasks);
    T.teardown_pool pool;
    check "all" (!here = others + 1)
  done

(* {2 Pools} *)

let named () =
  let given = ref 0 and told = Atomic.make false in
  let make round =
    given := round;
    let pool = T.setup_pool ~name:"named" ~num_domains:0 () in
    relax_until (fun () -> Atomic.get told);
    T.teardown_pool pool
  in
  let look round =
    relax_until (fun () -> T.lookup_pool "named" <> None);
    check "found, so written" (!given = round);
    Atomic.set told true
  in
  race 100 ~before:(fun _ -> Atomic.set told false) [ make; look ]

(* A call of a pool that is being torn down is early enough, or refused. *)
let torn_down () =
  let make _ = T.setup_pool ~num_domains:1 () in
  let pool = ref (make ()) in
  let tear_down _ = T.teardown_pool !pool in
  let use round =
    match T.run !pool (fun () -> T.await !pool (T.async !pool (fun () -> ref round))) with
    | result -> check "its result" (!result = round)
    | exception Invalid_argument _ -> ()
  in
  race 60 ~after:(fun _ -> pool := make ()) [ tear_down; use; use ];
  T.teardown_pool !pool

let () =
  insist_on 3;
  main
    [
      case "tasks: fib" (with_pool 2 tasks);
      case "tasks: three callers" (with_pool 1 tasks_of_several);
      case "tasks: wait for each other on a condition" tasks_meet;
      case "loops: for and reduce" (with_pool 2 loops);
      case "loops: scan" (with_pool 2 scans);
      case "loops: find" (with_pool 2 finds);
      case "loops: raise" (with_pool 2 raises);
      case "bodies: wait for each other" (with_pool 2 bodies_wait);
      case "channels: four domains" channels;
      case "pools: by name" named;
      case "pools: torn down in use" torn_down;
    ]
