(* Bad arguments of muster.domainslib. The exceptions are Domainslib's, word for word: programs may
   look at them. *)

open Bad_case
module Task = Domainslib.Task
module Chan = Domainslib.Chan

let gone =
  lazy
    (let pool = Task.setup_pool ~name:"gone" ~num_domains:0 () in
     Task.teardown_pool pool;
     pool)

let with_pool f =
  let pool = Task.setup_pool ~num_domains:0 () in
  Fun.protect (fun () -> f pool) ~finally:(fun () -> Task.teardown_pool pool)

let raises call run message = raises ("Domainslib." ^ call) run (Invalid_argument message)
let fine call = fine ("Domainslib." ^ call)

let torn_down =
  let bad fn f =
    raises ("Task." ^ fn ^ ", torn down") (fun () -> f (Lazy.force gone)) "pool already torn down"
  in
  let for_ start finish pool = Task.parallel_for ~start ~finish ~body:ignore pool in
  [
    bad "teardown_pool" Task.teardown_pool;
    bad "get_num_domains" (fun pool -> ignore (Task.get_num_domains pool));
    bad "run" (fun pool -> Task.run pool ignore);
    bad "async" (fun pool -> ignore (Task.async pool ignore));
    bad "await" (fun pool -> Task.await pool (with_pool (fun pool -> Task.async pool ignore)));
    bad "parallel_for" (for_ 0 9);
    bad "parallel_for, empty" (for_ 1 0);
    bad "parallel_for_reduce" (fun pool ->
        ignore (Task.parallel_for_reduce ~start:0 ~finish:9 ~body:Fun.id pool ( + ) 0));
    bad "parallel_scan" (fun pool -> ignore (Task.parallel_scan pool ( + ) [| 1; 2 |]));
    bad "parallel_find" (fun pool ->
        ignore (Task.parallel_find ~start:0 ~finish:9 ~body:Option.some pool));
    fine "Task.lookup_pool, torn down" true (fun () ->
        ignore (Lazy.force gone);
        Task.lookup_pool "gone" = None);
  ]

(* {2 Pools} *)

let teardown_within () =
  let pool = Task.setup_pool ~name:"busy" ~num_domains:0 () in
  Fun.protect
    (fun () -> Task.await pool (Task.async pool (fun () -> Task.teardown_pool pool)))
    ~finally:(fun () -> Task.teardown_pool pool)

let pools =
  let setup n =
    raises
      (Printf.sprintf "Task.setup_pool ~num_domains:(%d)" n)
      (fun () -> ignore (Task.setup_pool ~num_domains:n ()))
      "Task.setup_pool: num_domains must be at least 0"
  in
  [
    setup (-1);
    setup min_int;
    raises "Task.teardown_pool, in a task of it outside of run" teardown_within
      "Task.teardown_pool: called from a task of pool \"busy\", which it would wait for";
    fine "Task.setup_pool ~num_domains:max_int" max_int (fun () ->
        let pool = Task.setup_pool ~num_domains:max_int () in
        let asked = Task.get_num_domains pool in
        Task.teardown_pool pool;
        asked);
    fine "Task.lookup_pool, no such name" true (fun () -> Task.lookup_pool "no such pool" = None);
    fine "Task.await, of another pool's task" 1 (fun () ->
        with_pool (fun pool ->
            Task.await pool (with_pool (fun other -> Task.async other (fun () -> 1)))));
  ]

(* {2 Loops} *)

let sum ?chunk_size start finish () =
  with_pool (fun pool ->
      Task.parallel_for_reduce ?chunk_size ~start ~finish ~body:Fun.id pool ( + ) 0)

let calls ?chunk_size start finish () =
  let count = Atomic.make 0 in
  with_pool (Task.parallel_for ?chunk_size ~start ~finish ~body:(fun _ -> Atomic.incr count));
  Atomic.get count

let loops =
  [
    fine "Task.parallel_for ~chunk_size:(-1)" 10 (calls ~chunk_size:(-1) 0 9);
    fine "Task.parallel_for ~chunk_size:max_int" 10 (calls ~chunk_size:max_int 0 9);
    fine "Task.parallel_for ~start:max_int ~finish:min_int" 0 (calls max_int min_int);
    fine "Task.parallel_for ~start:(max_int - 1) ~finish:max_int" 2 (calls (max_int - 1) max_int);
    fine "Task.parallel_for_reduce ~chunk_size:0" 45 (sum ~chunk_size:0 0 9);
    fine "Task.parallel_for_reduce ~chunk_size:min_int" 45 (sum ~chunk_size:min_int 0 9);
    fine "Task.parallel_find ~start:min_int ~finish:max_int" true (fun () ->
        with_pool (Task.parallel_find ~start:min_int ~finish:max_int ~body:Option.some) <> None);
    fine "Task.parallel_scan, of nothing" [||] (fun () ->
        with_pool (fun pool -> Task.parallel_scan pool ( + ) [||]));
  ]

(* {2 Channels} *)

let chan =
  let bad n =
    raises
      (Printf.sprintf "Chan.make_bounded (%d)" n)
      (fun () -> ignore (Chan.make_bounded n))
      "Chan.make_bounded"
  in
  [ bad (-1); bad min_int ]

let tables =
  [
    {
      title = "muster.domainslib";
      rows = pools @ torn_down @ loops @ chan;
      harmless =
        List.map (( ^ ) "Domainslib.Chan.")
          [ "make_unbounded"; "send"; "send_poll"; "recv"; "recv_poll" ];
    };
  ]
