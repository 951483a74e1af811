(* The life of a pool: how many domains it gets, its name, its close, the default pool. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

let works pool = check_int "fib 15" 610 (Pool.run pool (fun () -> fib 15))

let size_when_it_works pool =
  works pool;
  Pool.size pool

(* Size *)

let size_is_capped_by_the_machine () =
  let ask domains = Pool.with_ ~domains size_when_it_works in
  let available = Muster.Cpu.available () in
  check_int "1" 1 (ask 1);
  check_int "one more than there are" available (ask (available + 1));
  check_int "200" available (ask 200);
  check_int "max_int" available (ask max_int)

let oversubscribe_insists () =
  let ask domains = with_domains domains size_when_it_works in
  List.iter (fun n -> check_int "size" n (ask n)) [ 1; 2; 3; 8 ]

let unasked_size_is_the_machine's () =
  Pool.with_ (fun pool -> check_int "size" (Muster.Cpu.available ()) (Pool.size pool))

let fewer_than_one_domain () =
  let refuse domains =
    let mentions = [ "create"; string_of_int domains ] in
    check_invalid ~mentions "create" (fun () -> Pool.create ~domains ());
    check_invalid ~mentions "oversubscribed" (fun () -> Pool.create ~domains ~oversubscribe:true ());
    check_invalid ~mentions:[ string_of_int domains ] "with_" (fun () -> Pool.with_ ~domains ignore)
  in
  List.iter refuse [ 0; -1; min_int ]

(* Workers that look have the heap that their pool's creator has chosen for itself. *)
let gc_set () =
  let before = Gc.get () in
  Gc.set { before with minor_heap_size = 100_000 };
  Fun.protect
    ~finally:(fun () -> Gc.set before)
    (fun () ->
      let chosen = (Gc.get ()).minor_heap_size in
      with_domains 2 (fun pool ->
          wait_until (fun () -> List.mem chosen (Pool.stats pool).minor_heap_words)))

(* Workers size their heaps a moment after they begin. [Gc.set] takes all settings at once: done by a
   worker it would undo what somebody else sets meanwhile. *)
let gc_set_beside_workers () =
  let before = Gc.get () in
  let set_beside i =
    with_domains 3 @@ fun _ ->
    burn (float (i mod 300) *. 1e-6);
    let stack_limit = before.stack_limit - i in
    Gc.set { (Gc.get ()) with stack_limit };
    Unix.sleepf 0.001;
    check_int "stack_limit" stack_limit (Gc.get ()).stack_limit
  in
  Fun.protect
    ~finally:(fun () -> Gc.set before)
    (fun () ->
      for i = 1 to 500 do
        set_beside i
      done)

(* What the program sets afterwards stands, though its loops allocate. *)
let gc_set_afterwards () =
  let before = Gc.get () in
  let work () =
    Muster.parallel_for ~start:1 ~finish:2_000_000 (fun i -> ignore (Sys.opaque_identity (ref i)))
  in
  Fun.protect
    ~finally:(fun () -> Gc.set before)
    (fun () ->
      with_domains 2 (fun pool ->
          Gc.set { (Gc.get ()) with minor_heap_size = 262_144 };
          for _ = 1 to 10 do
            Pool.run pool work
          done;
          check_int "words" 262_144 (Gc.get ()).minor_heap_size))

(* What workers draw who come one after the other, of one pool or of several, and what the program's own next domain
   draws: each has a generator of its own. *)
let generators () =
  let by_a_worker pool =
    Pool.run pool (fun () ->
        let drawn = Atomic.make None in
        let task =
          Task.async (fun () -> Atomic.set drawn (Some (Random.bits (), Random.bits ())))
        in
        wait_until (fun () -> Atomic.get drawn <> None);
        Task.await task;
        Option.get (Atomic.get drawn))
  in
  let of_a_pool _ = with_domains 2 (fun pool -> by_a_worker pool) in
  let workers = List.init 5 of_a_pool in
  let own = Domain.join (Domain.spawn (fun () -> (Random.bits (), Random.bits ()))) in
  let all = own :: workers in
  check_equal "different numbers" (List.length all) (List.length (List.sort_uniq compare all))

(* Domains that come and go draw nothing from the program's generator. *)
let random_numbers () =
  let drawn work =
    Random.init 42;
    work ();
    List.init 4 (fun _ -> Random.bits ())
  in
  let use_domains () = with_domains 3 (fun pool -> Pool.run pool (fun () -> ignore (fib 15))) in
  check_equal "drawn" (drawn ignore) (drawn use_domains)

(* Of 5,000 words the runtime makes whole pages. That is no lack of space, of which the pool would tell. *)
let minor_heap_words () =
  let with_heap wanted =
    let pool = Pool.create ~domains:2 ~oversubscribe:true ~minor_heap_words:wanted () in
    works pool;
    let what = Printf.sprintf "minor heaps of %d words" (Gc.get ()).minor_heap_size in
    let sized (decision : Pool.decision) = decision.what = what in
    let why =
      List.filter_map
        (fun d -> if sized d then Some d.Pool.why else None)
        (Pool.stats pool).decisions
    in
    Alcotest.(check (list string)) what [ "the pool's creator has or wants so" ] why;
    Pool.close pool
  in
  with_heap 65_536;
  with_heap 5_000

let child_size ?env name =
  let child = Child.run ?env "child/child.exe" [ name ] in
  Child.check_success child;
  int_of_string (String.trim child.output)

let more_domains_than_the_runtime_has () =
  let size = child_size "ask-too-many" in
  if size < 64 || size > 128 then failf "the pool has %d domains" size

let every_domain_taken () =
  let size = child_size ~env:[ ("OCAMLRUNPARAM", "d=6") ] "want-pool-when-all-taken" in
  check_int "runs on the caller alone" 1 size

(* All domains but three are the program's, then none. *)
let refused_once () =
  let child =
    Child.run
      ~env:[ ("OCAMLRUNPARAM", "d=4"); ("MUSTER_GOVERNOR", "off") ]
      "child/child.exe" [ "refused-once" ]
  in
  Child.check_success child;
  Alcotest.(check string) "domains used, and told" "1 3 1" (String.trim child.output)

let watchdog_beside_spin () =
  Child.check_success (Child.run ~limit:30. "child/child.exe" [ "start-beside-spin" ])

(* The default pool *)

let default_pool () =
  let pool = Pool.default () in
  check_bool "one only" true (pool == Pool.default ());
  works pool;
  check_int "both outside a pool" 610 (fib 15);
  check_int "from another domain" 610 (in_domain (fun () -> fib 15));
  check_bool "same in every domain" true (pool == in_domain Pool.default)

let default_size_by_environment () =
  let size value = child_size ~env:[ ("MUSTER_DOMAINS", value) ] "default-size" in
  check_int "1" 1 (size "1");
  check_int "3" 3 (size "3")

(* Each would make one; of their domains the runtime has enough for one only. *)
(* The default pool's number may be set before it starts, and again when it has been closed. *)
let default_size_by_the_program () =
  let set domains = Pool.set_default ~domains in
  let started = Invalid_argument "Muster.Pool.set_default: the default pool has started" in
  let size () = Pool.size (Pool.default ()) in
  let as_the_machine = size () in
  check_raises "started" started (fun () -> set 1);
  Pool.close (Pool.default ());
  let put_back () =
    Pool.close (Pool.default ());
    set max_int
  in
  Fun.protect ~finally:put_back (fun () ->
      set 1;
      check_equal "set" "1" (string_of_int (size ()));
      check_raises "started again" started (fun () -> set 1));
  check_equal "the machine's again" (string_of_int as_the_machine) (string_of_int (size ()))

let current_pool () =
  check_bool "outside" true (Pool.equal (Pool.current ()) (Pool.default ()));
  with_domains 2 @@ fun pool ->
  let is_current () = Pool.equal pool (Pool.current ()) in
  check_bool "beside it" false (is_current ());
  check_bool "within" true (Pool.run pool is_current);
  let in_task () = Task.await (Task.async is_current) in
  check_bool "in a task" true (Pool.run pool in_task)

(* The governor is off: a flipped run would be the same. *)
let default_for_several_at_once () =
  let env = [ ("MUSTER_DOMAINS", "100"); ("MUSTER_GOVERNOR", "off") ] in
  let child = Child.run ~env "child/child.exe" [ "default-by-several" ] in
  Child.check_success child;
  let sizes = String.split_on_char '\n' (String.trim child.output) in
  check_equal (String.concat " " sizes) (List.init 5 (fun _ -> "100")) sizes

(* The program works, and says in one line what it ignores. *)
let bad_environment () =
  let check variable value =
    let child = Child.run ~env:[ (variable, value) ] "child/child.exe" [ "default-size" ] in
    Child.check_success child;
    let size = int_of_string (String.trim child.output) in
    let explains = contains child.errors ~sub:(Printf.sprintf "%s=%S" variable value) in
    let lines = List.length (String.split_on_char '\n' (String.trim child.errors)) in
    if not (size >= 1 && explains && lines = 1) then failf "%S: %s" value child.errors
  in
  List.iter (check "MUSTER_DOMAINS") [ "0"; "-3"; "many"; ""; "2.5"; "99999999999999999999" ];
  check "MUSTER_GOVERNOR" "many"

let good_environment () =
  let check (variable, value) =
    let child = Child.run ~env:[ (variable, value) ] "child/child.exe" [ "default-size" ] in
    Child.check_success child;
    check_equal (variable ^ "=" ^ value) "" child.errors
  in
  let governor = [ "on"; "off"; "random"; "random:3"; "" ] in
  List.iter check (("MUSTER_DOMAINS", " 2 ") :: List.map (fun v -> ("MUSTER_GOVERNOR", v)) governor)

(* Names *)

let names_and_equality () =
  let make () = Pool.create ~name:"of a name" ~domains:1 () in
  let a = make () and b = make () in
  check_equal "name" "of a name" (Pool.name a);
  check_bool "itself" true (Pool.equal a a);
  check_bool "another of its name" false (Pool.equal a b);
  Pool.close a;
  Pool.close b;
  check_equal "closed" "of a name" (Pool.name a);
  check_bool "closed" true (Pool.equal a a);
  check_equal "default" "default" (Pool.name (Pool.default ()))

let find_by_name () =
  let name = "found by name" in
  let is_found () = Option.is_some (Pool.find name) in
  check_bool "before" false (is_found ());
  Pool.with_ ~name ~domains:2 (fun pool ->
      match Pool.find name with
      | Some found -> check_bool "the same" true (found == pool)
      | None -> failwith "not found");
  check_bool "after close" false (is_found ())

(* Who finds a pool at its first moment finds it with its workers, and may close it: none comes afterwards. *)
let closed_as_soon_as_found () =
  for i = 1 to 30 do
    let name = Printf.sprintf "found at once, %d" i and looks = Atomic.make false in
    let rec look () =
      Atomic.set looks true;
      match Pool.find name with Some pool -> pool | None -> look ()
    in
    let find_and_close () =
      let pool = look () in
      Pool.close pool;
      Pool.stats pool
    in
    let finder = Domain.spawn find_and_close in
    wait_until (fun () -> Atomic.get looks);
    let pool = Pool.create ~name ~domains:8 ~oversubscribe:true () in
    let closed = Domain.join finder in
    let later = Pool.stats pool in
    check_int "domains started" closed.domains_started later.domains_started;
    check_int "size" closed.size later.size
  done

(* One that refuses calls is not open, though its closing goes on. *)
let not_found_while_it_closes () =
  let name = "closing for long" in
  let pool = Pool.create ~name ~domains:2 ~oversubscribe:true () in
  let ends = Atomic.make false in
  Pool.run pool (fun () -> ignore (Task.async (fun () -> wait_until (fun () -> Atomic.get ends))));
  let closing = Domain.spawn (fun () -> Pool.close pool) in
  let refuses () =
    match Pool.run pool ignore with () -> false | exception Invalid_argument _ -> true
  in
  wait_until refuses;
  let found = Option.is_some (Pool.find name) in
  Atomic.set ends true;
  Domain.join closing;
  check_bool "found" false found

(* Close *)

exception Boom

let with_closes_on_exception () =
  let kept = ref None in
  let body pool =
    kept := Some pool;
    raise Boom
  in
  check_raises "passes" Boom (fun () -> Pool.with_ ~name:"raising" ~domains:2 body);
  let pool = Option.get !kept in
  check_invalid ~mentions:[ "raising" ] "closed" (fun () -> Pool.run pool ignore)

let close_is_idempotent () =
  let pool = Pool.create ~domains:3 ~oversubscribe:true () in
  works pool;
  Pool.close pool;
  Pool.close pool;
  ignore (in_domain (fun () -> Pool.close pool))

let use_after_close () =
  let pool = Pool.create ~name:"shut early" ~domains:2 ~oversubscribe:true () in
  Pool.close pool;
  let refuses what f = check_invalid ~mentions:[ "shut early" ] what f in
  let index ~worker:_ _ = () in
  refuses "run" (fun () -> Pool.run pool ignore);
  refuses "broadcast" (fun () -> Muster.Team.broadcast pool ignore);
  let with_count n =
    refuses "for_n" (fun () -> Muster.Team.for_n pool n index);
    refuses "for_n_dynamic" (fun () -> Muster.Team.for_n_dynamic pool n index);
    refuses "for_slices" (fun () ->
        Muster.Team.for_slices pool n (fun ~worker:_ ~start:_ ~count:_ -> ()))
  in
  List.iter with_count [ 4; 0 ]

(* The sleeper is begun by a run in another domain, so that close finds it running. *)
let close_waits_for_running_tasks () =
  let pool = Pool.create ~domains:2 ~oversubscribe:true () in
  let started = Atomic.make false and finished = Atomic.make false in
  let sleep () =
    Atomic.set started true;
    Unix.sleepf 0.3;
    Atomic.set finished true
  in
  let runner = Domain.spawn (fun () -> outcome (fun () -> Pool.run pool sleep)) in
  wait_until (fun () -> Atomic.get started);
  Pool.close pool;
  check_bool "finished before close returned" true (Atomic.get finished);
  check_bool "its caller has the result" true (Domain.join runner = Ok ())

let close_waits_for_unawaited_tasks () =
  let check domains =
    let finished = Atomic.make 0 in
    let task () =
      Unix.sleepf 0.01;
      Atomic.incr finished
    in
    let ten = List.init 10 (fun _ -> task) in
    with_domains domains (fun pool ->
        Pool.run pool (fun () -> List.iter (fun f -> ignore (Task.async f)) ten));
    check_int (Printf.sprintf "all have run, %d domains" domains) 10 (Atomic.get finished)
  in
  List.iter check [ 1; 2; 3 ]

(* The closing thread is no worker: one comes in its stead. *)
let close_has_all_workers_work () =
  let at_work = Atomic.make 0 and met = Atomic.make false in
  let task () =
    if Atomic.fetch_and_add at_work 1 > 0 then Atomic.set met true;
    if not (Atomic.get met) then Unix.sleepf 0.01;
    Atomic.decr at_work
  in
  let fork_all () = List.iter (fun _ -> ignore (Task.async task)) (List.init 150 Fun.id) in
  with_domains 2 (fun pool -> Pool.run pool fork_all);
  check_bool "two tasks at a time" true (Atomic.get met)

let close_from_several_domains () =
  for _ = 1 to 5 do
    let pool = Pool.create ~domains:3 ~oversubscribe:true () in
    works pool;
    let closers = List.init 3 (fun _ -> Domain.spawn (fun () -> Pool.close pool)) in
    List.iter Domain.join closers;
    check_invalid ~mentions:[] "closed" (fun () -> Pool.run pool ignore)
  done

(* A caller that comes too late is refused; one that came in time gets its answer. *)
let close_beside_runs () =
  for _ = 1 to 5 do
    let pool = Pool.create ~domains:2 ~oversubscribe:true () in
    let rec use () =
      match Pool.run pool (fun () -> fib 10) with
      | answer ->
        check_int "fib 10" 55 answer;
        use ()
      | exception Invalid_argument _ -> ()
    in
    let users = List.init 2 (fun _ -> Domain.spawn use) in
    Unix.sleepf 0.02;
    Pool.close pool;
    List.iter Domain.join users
  done

(* Two threads of one domain within one pool: domain-local storage shows the place of the first
   alone. The second calls [f] once [ready ()], while the first is there, or after it has left. *)
let second_thread_within pool ~first_leaves ~ready f =
  let entered = Atomic.make 0 and first_left = Atomic.make false and done_ = Atomic.make false in
  let wait_for flag = wait_until (fun () -> Atomic.get flag) in
  let first () =
    Pool.run pool (fun () ->
        Atomic.incr entered;
        wait_until (fun () -> Atomic.get entered = 2);
        if not first_leaves then wait_for done_);
    Atomic.set first_left true
  in
  let second () =
    wait_until (fun () -> Atomic.get entered = 1);
    Pool.run pool @@ fun () ->
    Atomic.incr entered;
    if first_leaves then wait_for first_left;
    wait_until ready;
    Fun.protect f ~finally:(fun () -> Atomic.set done_ true)
  in
  ignore (in_threads 2 (fun i -> if i = 0 then first () else second ()))

let is_closing pool =
  match Pool.run pool ignore with () -> false | exception Invalid_argument _ -> true

(* Who is within when the pool is closed goes on. *)
let close_beside_threads () =
  let closed_while ~first_leaves =
    let pool = Pool.create ~domains:2 ~oversubscribe:true () in
    let used = Atomic.make false and closing = Atomic.make false in
    let in_domain_when flag f =
      Domain.spawn (fun () ->
          wait_until (fun () -> Atomic.get flag);
          f ())
    in
    let closer = in_domain_when used (fun () -> Pool.close pool) in
    let watch () =
      wait_until (fun () -> is_closing pool);
      Atomic.set closing true
    in
    let watcher = in_domain_when used watch in
    let ready () =
      Atomic.set used true;
      Atomic.get closing
    in
    second_thread_within pool ~first_leaves ~ready (fun () ->
        check_int "a task" 55 (Task.await (Task.async (fun () -> fib 10)));
        check_int "forks" 55 (fib 10));
    List.iter Domain.join [ closer; watcher ]
  in
  closed_while ~first_leaves:false;
  closed_while ~first_leaves:true

(* Its pool stays its current one. *)
let thread_left_behind () =
  outside ~name:"theirs" ~domains:2 ~oversubscribe:true @@ fun pool ->
  let where () = (Option.get (Muster_core.Place.owned_place ())).pool.name in
  second_thread_within pool ~first_leaves:true
    ~ready:(fun () -> true)
    (fun () ->
      check_equal "of a task" "theirs" (Task.await (Task.async where));
      let left, right = Muster.both where where in
      check_equal "of forks" ("theirs", "theirs") (left, right))

(* The other thread of this domain is in some other pool. *)
let outside_beside_another () =
  with_domains 2 @@ fun pool ->
  let entered = Atomic.make false and stop = Atomic.make false in
  let sits () =
    Atomic.set entered true;
    while not (Atomic.get stop) do
      Thread.delay 1e-3
    done
  in
  let where () = (Option.get (Muster_core.Place.owned_place ())).pool.name in
  in_domain @@ fun () ->
  let thread = Thread.create (fun () -> Pool.run pool sits) () in
  while not (Atomic.get entered) do
    Thread.delay 1e-3
  done;
  let theirs = Task.await (Task.async where) in
  Atomic.set stop true;
  Thread.join thread;
  check_equal "pool" "default" theirs

(* More threads than either pool has places for; each acts on its own. *)
let crowds_of_two_pools () =
  outside ~name:"a" ~domains:3 ~oversubscribe:true @@ fun a ->
  outside ~name:"b" ~domains:3 ~oversubscribe:true @@ fun b ->
  let n = 16 in
  let entered = Atomic.make 0 and left = Atomic.make 0 in
  let wait_for count =
    while Atomic.get count < 2 * n do
      Thread.delay 1e-3
    done
  in
  let where () = (Muster_core.Pool.current ()).name in
  let caller i =
    let pool, name = if i land 1 = 0 then (a, "a") else (b, "b") in
    let work () =
      ignore (Atomic.fetch_and_add entered 1);
      wait_for entered;
      let found = outcome (fun () -> Task.await (Task.async where)) in
      ignore (Atomic.fetch_and_add left 1);
      check_equal "pool" (Ok name) found;
      wait_for left
    in
    Pool.run pool work
  in
  ignore (in_threads (2 * n) caller)

let close_within_own_task () =
  let pool = Pool.create ~name:"closing itself" ~domains:2 ~oversubscribe:true () in
  check_invalid ~mentions:[ "closing itself" ] "close" (fun () ->
      Pool.run pool (fun () -> Pool.close pool));
  works pool;
  Pool.close pool

(* A domain that is not joined would count against the runtime's 128. *)
let close_joins_every_domain () =
  for _ = 1 to 60 do
    with_domains 4 (fun pool ->
        check_int "size" 4 (Pool.size pool);
        works pool)
  done

let several_close_at_once () =
  let ended = Atomic.make false in
  let at_the_end () =
    Unix.sleepf 0.1;
    Atomic.set ended true
  in
  let pool = Pool.create ~domains:2 ~oversubscribe:true () in
  Muster.Team.broadcast pool (fun worker -> if worker > 0 then Domain.at_exit at_the_end);
  let closes () =
    Pool.close pool;
    check_bool "its domain has ended" true (Atomic.get ended)
  in
  let others = List.init 2 (fun _ -> Domain.spawn (fun () -> outcome closes)) in
  closes ();
  let join domain = match Domain.join domain with Ok () -> () | Error exn -> raise exn in
  List.iter join others

(* Stats *)

let stats_grow () =
  with_domains 2 @@ fun pool ->
  let before = Pool.stats pool in
  works pool;
  let fifty () = List.init 50 (fun _ -> Task.async ignore) in
  Pool.run pool (fun () -> List.iter Task.await (fifty ()));
  Muster.Team.broadcast pool ignore;
  let after = Pool.stats pool in
  let grown what count = check_bool what true (count after > count before) in
  grown "tasks" (fun s -> s.tasks);
  grown "forks" (fun s -> s.forks);
  grown "regions" (fun s -> s.regions);
  check_bool "steals" true (after.steals >= before.steals);
  check_bool "parks" true (after.parks >= before.parks)

let flips_at_random =
  match Sys.getenv_opt "MUSTER_GOVERNOR" with
  | Some mode -> String.starts_with ~prefix:"random" mode
  | None -> false

(* Figures of the machine are the machine's; these hold on any, where nothing flips them. *)
let stats_agree () =
  if not flips_at_random then (
    outside ~name:"told" ~domains:3 ~oversubscribe:true @@ fun pool ->
    Muster.Team.broadcast pool (fun _ ->
        for _ = 1 to 3 do
          Gc.minor ()
        done);
    (* A worker tells of its heap when it pauses. *)
    wait_until (fun () -> List.length (Pool.stats pool).minor_heap_words = 3);
    let s = Pool.stats pool in
    check_int "size" 3 s.size;
    check_int "all there" 3 s.workers;
    check_int "all allowed" 3 s.allowed;
    check_int "started" 2 s.domains_started;
    check_int "none ended" 0 s.domains_ended;
    check_int "no waits: it does not look" 0 s.waits;
    let is_counted = Muster_core.Place.index_in_state >= 0 in
    check_bool "collections" is_counted (s.minor_collections > 0 && s.minor_gc_seconds > 0.);
    check_bool "why three" true
      (List.exists (fun (d : Pool.decision) -> d.what = "3 workers" && d.why <> "") s.decisions))

let stats_of_one_name () =
  let of_size { Pool.what; _ } =
    if String.ends_with ~suffix:" workers" what then Some what else None
  in
  let twice n = Pool.with_ ~name:"twice" ~domains:n ~oversubscribe:true in
  twice 4 ignore;
  twice 3 @@ fun pool ->
  let sizes = List.filter_map of_size (Pool.stats pool).decisions in
  Alcotest.(check (list string)) "its own" [ "3 workers" ] sizes

(* Idle domains end, and the pool says why. *)
(* Tasks that were awaited leave entries behind, for which nobody has to come. *)
let stats_of_one_worker () =
  outside ~domains:1 (fun pool ->
      for _ = 1 to 100 do
        Pool.run pool (fun () ->
            let tasks = List.init 3 (fun i -> Muster.Task.async (fun () -> i)) in
            check_int "sum" 3
              (List.fold_left (fun sum task -> sum + Muster.Task.await task) 0 tasks))
      done;
      check_int "domains started" 0 (Pool.stats pool).domains_started)

let stats_tell_of_idleness () =
  with_domains 2 @@ fun pool ->
  works pool;
  (* Only when it has let go of its place is it none of the workers; and flipped numbers may have ended one
     already, and called another. *)
  let ended (s : Pool.stats) = s.domains_ended > 0 && s.workers = 1 in
  wait_until (fun () -> ended (Pool.stats pool));
  check_bool "the reason" true
    (List.exists
       (fun (d : Pool.decision) -> d.what = "a domain ended" && d.why <> "")
       (Pool.stats pool).decisions)

(* Of two callers that want a domain for what they leave, one finds its place taken by the other. *)
let hired_by_two_at_once () =
  for _ = 1 to 200 do
    with_domains 1 @@ fun pool ->
    let here = Atomic.make 0 in
    let leave () =
      Atomic.incr here;
      while Atomic.get here < 2 do
        Domain.cpu_relax ()
      done;
      Pool.run pool (fun () -> ignore (Task.async ignore))
    in
    let other = Domain.spawn leave in
    leave ();
    Domain.join other;
    check_int "workers allowed in a pool of one" 1 (Pool.stats pool).allowed
  done

(* As Format's does where stdout is closed. *)
let close_beside_raising_ends () =
  let reports = Atomic.make 0 in
  Muster.Task.set_uncaught_handler (fun exn _ -> if exn = Exit then Atomic.incr reports);
  let name = "ends badly" in
  let pool = Pool.create ~name ~domains:2 ~oversubscribe:true () in
  let in_a_resident f =
    Pool.run pool (fun () ->
        let ran = Atomic.make false in
        let task =
          Muster.Task.async (fun () ->
              f ();
              Atomic.set ran true)
        in
        wait_until (fun () -> Atomic.get ran);
        Muster.Task.await task)
  in
  in_a_resident (fun () -> Domain.at_exit (fun () -> raise Exit));
  wait_until (fun () -> flips_at_random || (Pool.stats pool).domains_ended > 0);
  in_a_resident ignore;
  Pool.close pool;
  check_bool "closed" true (Pool.find name = None);
  check_int "reports" 1 (Atomic.get reports)

let () =
  Alcotest.run "pool"
    [
      ( "size",
        [
          case "the size is at most the machine's CPUs" size_is_capped_by_the_machine;
          case "oversubscribe gives more workers than CPUs" oversubscribe_insists;
          case "the default size is the machine's" unasked_size_is_the_machine's;
          case "fewer than one domain are refused" fewer_than_one_domain;
          case "minor_heap_words sets the workers' heaps" minor_heap_words;
          case "workers have the heap size that Gc.set gave their creator" gc_set;
          case "Gc.set beside workers that size their heaps is kept" gc_set_beside_workers;
          case "Gc.set after the pool's creation is kept" gc_set_afterwards;
          case "a pool leaves the program's random numbers as they are" random_numbers;
          case "each worker draws other random numbers" generators;
          case "a domain that could not start starts later" refused_once;
          case "the watchdog starts beside a thread that spins" watchdog_beside_spin;
          case "more domains than the runtime has are asked for" more_domains_than_the_runtime_has;
          case "a pool works where other code has all domains" every_domain_taken;
          case "two callers want a domain for their tasks at once" hired_by_two_at_once;
        ] );
      ( "default",
        [
          case "there is one default pool, which works anywhere" default_pool;
          case "MUSTER_DOMAINS sets the default pool's size" default_size_by_environment;
          case "a variable that makes no sense is told of in one line" bad_environment;
          case "a variable that makes sense is not" good_environment;
          case "Pool.set_default sets the default pool's size" default_size_by_the_program;
          case "Pool.current is the pool on which calls act" current_pool;
          case "the default pool has all its workers, though several domains start it"
            (if flipped then ignore else default_for_several_at_once);
          case "a thread that is left behind in a pool keeps that pool" thread_left_behind;
          case "a thread beside one in another pool gets the default pool" outside_beside_another;
          case "more callers than places each keep their pool" crowds_of_two_pools;
        ] );
      ( "name",
        [
          case "find gives an open pool of the name" find_by_name;
          case "a pool has its name, and equals itself alone" names_and_equality;
          case "a pool may be closed as soon as find gives it" closed_as_soon_as_found;
          case "find gives no pool that closes" not_found_while_it_closes;
        ] );
      ( "close",
        [
          case "with_ closes on an exception" with_closes_on_exception;
          case "closing twice does nothing" close_is_idempotent;
          case "a later use raises an error with the pool's name" use_after_close;
          case "close waits for a running task" close_waits_for_running_tasks;
          case "close waits for tasks that nobody awaits" close_waits_for_unawaited_tasks;
          case "close has all workers work" close_has_all_workers_work;
          case "several domains close a pool at once" close_from_several_domains;
          case "close beside calls of Pool.run" close_beside_runs;
          case "close beside threads that work in the pool" close_beside_threads;
          case "close within a task of the pool is refused" close_within_own_task;
          case "close joins every domain" close_joins_every_domain;
          case "several calls of close all join the domains" several_close_at_once;
          case "close ends though functions of Domain.at_exit raise" close_beside_raising_ends;
        ] );
      ( "stats",
        [
          case "a pool of one starts no domain" stats_of_one_worker;
          case "counts grow with the work" stats_grow;
          case "counts agree with each other" stats_agree;
          case "statistics are of one pool among several of its name" stats_of_one_name;
          case "statistics tell that domains have ended" stats_tell_of_idleness;
        ] );
    ]
