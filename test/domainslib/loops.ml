(* Loops against the sequential ones. *)

open Domainslib
open Harness
open Pools

exception Boom of int

type range = { start : int; finish : int; chunk_size : int option; raising : int list }

let print_range r =
  Printf.sprintf "%d to %d, chunk_size %s, raising at [%s]" r.start r.finish
    (Option.fold ~none:"default" ~some:string_of_int r.chunk_size)
    (String.concat " " (List.map string_of_int r.raising))

let range =
  let open QCheck.Gen in
  let near_the_top = map (fun d -> max_int - d) (int_range 0 300) in
  let* start = oneof [ int_range (-1000) 1000; return min_int; near_the_top ] in
  let* length = oneof [ int_range 0 20; int_range 0 300 ] in
  let finish = if length > 0 && start > max_int - length then max_int else start + length - 1 in
  let start, finish = if start = min_int && length = 0 then (0, -1) else (start, finish) in
  let sizes = oneof [ int_range (-1) 3; int_range 1 400; return max_int ] in
  let* chunk_size = oneof [ return None; map Option.some sizes ] in
  let some = list_size (int_range 1 3) (map (fun d -> start + d) (int_range 0 300)) in
  let+ raising = oneof [ return []; some ] in
  { start; finish; chunk_size; raising }

let any_range = QCheck.make ~print:print_range range
let length r = if r.finish < r.start then 0 else r.finish - r.start + 1
let letter i = String.make 1 (Char.chr (97 + (i land max_int mod 26)))
let fail_at r i = if List.mem i r.raising then raise (Boom i)

let for_agrees pool r =
  let runs = counters (length r) in
  let running = Atomic.make 0 in
  let body i =
    Atomic.incr running;
    Atomic.incr runs.(i - r.start);
    Atomic.decr running;
    fail_at r i
  in
  let { start; finish; chunk_size; _ } = r in
  let ours = outcome (fun () -> Task.parallel_for ?chunk_size ~start ~finish ~body pool) in
  let all_ended = Atomic.get running = 0 in
  let parallel = Array.map Atomic.get runs in
  let theirs =
    outcome (fun () ->
        for i = start to finish do
          body i
        done)
  in
  let sequential = Array.mapi (fun i n -> Atomic.get runs.(i) - n) parallel in
  let is_sound p s = p = s || (s = 0 && p <= 1 && Result.is_error theirs) in
  all_ended && ours = theirs && Array.for_all2 is_sound parallel sequential

let reduce_agrees pool r =
  let body i =
    fail_at r i;
    letter i
  in
  let { start; finish; chunk_size; _ } = r in
  let ours () = Task.parallel_for_reduce ?chunk_size ~start ~finish ~body pool ( ^ ) "init " in
  let theirs () =
    List.fold_left ( ^ ) "init " (List.init (length r) (fun d -> body (r.start + d)))
  in
  outcome ours = outcome theirs

let find_agrees pool r =
  let body i = if List.mem i r.raising then Some i else None in
  let { start; finish; chunk_size; _ } = r in
  let in_range i = i >= start && i <= finish in
  match Task.parallel_find ?chunk_size ~start ~finish ~body pool with
  | Some i -> List.mem i r.raising && in_range i
  | None -> not (List.exists in_range r.raising)

let scan_agrees pool n =
  let input = Array.init n letter in
  let ours = Task.parallel_scan pool ( ^ ) input in
  let sum = ref "" in
  input = Array.init n letter
  && ours
     = Array.map
         (fun x ->
           sum := !sum ^ x;
           !sum)
         input

let property name arbitrary holds num_domains =
  let name = Printf.sprintf "%s, %d" name num_domains in
  let check () =
    with_pool num_domains @@ fun pool ->
    let law x = Task.run pool (fun () -> holds pool x) in
    let _, _, run = QCheck_alcotest.to_alcotest (QCheck.Test.make ~count:200 ~name arbitrary law) in
    run ()
  in
  case name check

let properties num_domains =
  [
    property "for" any_range for_agrees num_domains;
    property "reduce" any_range reduce_agrees num_domains;
    property "find" any_range find_agrees num_domains;
    property "scan" QCheck.(int_range 0 300) scan_agrees num_domains;
  ]

(* {2 Bracketing}

   Domainslib's, in so many words: reductions halve a range down to chunks; scans have one
   part for each domain. *)

let bracketed ~chunk ~start ~finish op body =
  let rec part s e =
    if e - s < chunk then begin
      let sum = ref (body s) in
      for i = s + 1 to e do
        sum := op !sum (body i)
      done;
      !sum
    end
    else
      let mid = s + ((e - s) / 2) in
      let left = part s mid in
      op left (part (mid + 1) e)
  in
  part start finish

let parenthesised a b = "(" ^ a ^ b ^ ")"

let reductions_bracket_as_domainslib num_domains () =
  with_pool num_domains @@ fun pool ->
  List.iter
    (fun (n, chunk_size) ->
      let domains = num_domains + 1 in
      let default = if domains = 1 then n else max 1 (n / (8 * domains)) in
      let chunk = if chunk_size > 0 then chunk_size else default in
      let expected = bracketed ~chunk ~start:1 ~finish:n parenthesised string_of_int in
      let got =
        Task.parallel_for_reduce ~chunk_size ~start:1 ~finish:n ~body:string_of_int pool
          parenthesised "init"
      in
      check_equal (Printf.sprintf "%d by %d" n chunk_size) (parenthesised "init" expected) got)
    [ (1, 0); (7, 0); (200, 0); (1000, 0); (1000, 1); (200, 33); (200, 500) ]

let scanned domains op input =
  let n = Array.length input in
  let parts = min (n - 1) domains in
  let a = Array.copy input in
  let scan s e =
    for i = s + 1 to e do
      a.(i) <- op a.(i - 1) a.(i)
    done
  in
  if parts < 2 then scan 0 (n - 1)
  else begin
    let bound part = part * n / parts in
    for part = 0 to parts - 1 do
      scan (bound part) (bound (part + 1) - 1)
    done;
    for part = 1 to parts - 1 do
      let offset = a.(bound part - 1) in
      for i = bound part to bound (part + 1) - 1 do
        a.(i) <- op offset a.(i)
      done
    done
  end;
  a

(* Slow operations are shared out, quick ones are not. *)
let scans_bracket_as_domainslib num_domains () =
  with_pool num_domains @@ fun pool ->
  let check op n =
    let input = Array.init n string_of_int in
    check_equal (string_of_int n)
      (scanned (num_domains + 1) op input)
      (Task.parallel_scan pool op input)
  in
  let slow a b =
    Unix.sleepf 1e-4;
    parenthesised a b
  in
  List.iter (check parenthesised) [ 0; 1; 2; 3; 9; 10; 64; 100 ];
  List.iter (check slow) [ 2; 9; 100 ]

(* {2 A loop ends after its bodies} *)

let waits_for_its_bodies ?chunk_size ~raising pool =
  let finish = 19 in
  let begun = Atomic.make 0 and ended = Atomic.make 0 in
  let body i =
    Atomic.incr begun;
    if i = raising then raise (Boom i);
    Unix.sleepf 0.001;
    Task.await pool (Task.async pool (fun () -> Unix.sleepf 0.001));
    Atomic.incr ended
  in
  let loops =
    [
      (fun () -> Task.parallel_for ?chunk_size ~start:0 ~finish ~body pool);
      (fun () ->
        Task.parallel_for_reduce ?chunk_size ~start:0 ~finish ~body pool (fun () () -> ()) ());
      (fun () ->
        let body i =
          body i;
          None
        in
        ignore (Task.parallel_find ?chunk_size ~start:0 ~finish ~body pool));
    ]
  in
  let check loop =
    Atomic.set begun 0;
    Atomic.set ended 0;
    check_raises "loop" (Boom raising) loop;
    let at_once = (Atomic.get begun, Atomic.get ended) in
    check_int "all that began have ended" (fst at_once - 1) (snd at_once);
    Unix.sleepf 0.02;
    check_equal "nothing goes on" at_once (Atomic.get begun, Atomic.get ended)
  in
  List.iter check loops

let in_all_ways check pool =
  List.iter
    (fun raising ->
      check ?chunk_size:None ~raising pool;
      check ?chunk_size:(Some 1) ~raising pool;
      Task.run pool (fun () -> check ?chunk_size:(Some 7) ~raising pool))
    [ 0; 10; 19 ]

(* In a scope of Muster's. *)
let are_checkpoints pool =
  let loops n =
    [
      (fun () -> Task.parallel_for ~start:1 ~finish:n ~body:ignore pool);
      (fun () -> ignore (Task.parallel_for_reduce ~start:1 ~finish:n ~body:Fun.id pool ( + ) 0));
      (fun () -> ignore (Task.parallel_find ~start:1 ~finish:n ~body:(fun _ -> None) pool));
      (fun () -> ignore (Task.parallel_scan pool ( + ) (Array.init n Fun.id)));
      (fun () -> ignore (Task.async pool ignore));
      (fun () -> List.iter (Task.await pool) (List.init n (fun _ -> Task.async pool ignore)));
    ]
  in
  let check loop =
    for _ = 1 to 10 do
      loop ()
    done;
    let went_on = ref false in
    let cancelled scope =
      Muster.Task.cancel_scope scope;
      loop ();
      went_on := true
    in
    (try Muster.Task.scope cancelled with Muster.Task.Cancelled -> ());
    check_bool "went on" false !went_on
  in
  Task.run pool (fun () -> List.iter (fun n -> List.iter check (loops n)) [ 1; 10; 100 ])

(* A body that fails, and whose task of Muster's is cancelled at the same time: other workers, or
   the loop itself, are told of that. *)
let failure_beside_a_cancellation pool =
  let fails = Harness.failure_beside_a_cancellation ~run:(Task.run pool) in
  let all_loops finish =
    fails (fun body -> Task.parallel_for ~start:0 ~finish ~body pool);
    fails (fun body -> Task.parallel_for ~chunk_size:1 ~start:0 ~finish ~body pool);
    fails (fun body -> Task.parallel_for_reduce ~start:0 ~finish ~body pool (fun () () -> ()) ());
    let some body i =
      body i;
      None
    in
    fails (fun body -> ignore (Task.parallel_find ~start:0 ~finish ~body:(some body) pool))
  in
  for _ = 1 to 30 do
    List.iter all_loops [ 1; 2000 ]
  done

(* On several workers, of which there may be fewer than asked for. *)
let sharing =
  let few_that_have_become_long pool =
    let check what ~alone ~iterations loop =
      Task.run pool (fun () ->
          shares_what_has_become_long what ~alone ~iterations
            (loop ~start:0 ~finish:(iterations - 1)))
    in
    let sweep ~start ~finish body = Task.parallel_for ~chunk_size:1 ~start ~finish ~body pool in
    check "for" ~alone:1 ~iterations:10 sweep;
    check "a longer for" ~alone:2 ~iterations:20 sweep;
    check "reduce" ~alone:1 ~iterations:10 (fun ~start ~finish body ->
        Task.parallel_for_reduce ~chunk_size:1 ~start ~finish ~body pool (fun () () -> ()) ());
    check "find" ~alone:1 ~iterations:10 (fun ~start ~finish f ->
        let body i =
          f i;
          None
        in
        ignore (Task.parallel_find ~chunk_size:1 ~start ~finish ~body pool))
  in
  [ case "a few iterations that became long are shared" (on_pools [ 1; 3 ] few_that_have_become_long) ]

(* What the bodies wait for never comes. *)
let ctrl_c_ends_all pool =
  let never _ = Muster.Latch.await (Muster.Latch.create 1) in
  let interrupt () =
    ignore (Thread.sigmask SIG_BLOCK [ Sys.sigint ]);
    Unix.sleepf 0.05;
    Unix.kill (Unix.getpid ()) Sys.sigint
  in
  let is_ended what loop =
    let sender = Thread.create interrupt () in
    check_raises what Sys.Break (fun () -> Task.run pool loop);
    Thread.join sender
  in
  Sys.catch_break true;
  Fun.protect ~finally:(fun () -> Sys.set_signal Sys.sigint Signal_default) @@ fun () ->
  is_ended "for" (fun () -> Task.parallel_for ~start:0 ~finish:9 ~body:never pool);
  is_ended "find" (fun () ->
      let body i = never i; None in
      ignore (Task.parallel_find ~start:0 ~finish:9 ~body pool));
  is_ended "reduce" (fun () ->
      Task.parallel_for_reduce ~start:0 ~finish:9 ~body:never pool (fun () () -> ()) ())

let cases =
  List.concat_map properties [ 0; 1; 3; 7 ]
  @ [
      case "reductions bracket as Domainslib's, num_domains 0" (reductions_bracket_as_domainslib 0);
      case "reductions bracket as Domainslib's, num_domains 3" (reductions_bracket_as_domainslib 3);
      case "scans bracket as Domainslib's, num_domains 0" (scans_bracket_as_domainslib 0);
      case "scans bracket as Domainslib's, num_domains 1" (scans_bracket_as_domainslib 1);
      case "scans bracket as Domainslib's, num_domains 7" (scans_bracket_as_domainslib 7);
      case "a loop that raises ends after its bodies"
        (on_pools [ 1; 3 ] (in_all_ways waits_for_its_bodies));
      case "a failure is raised beside a cancellation" (on_pools [ 1; 3 ] failure_beside_a_cancellation);
      case "short loops and tasks are checkpoints" (on_pools [ 0; 1 ] are_checkpoints);
      case "Ctrl-C ends a loop whose bodies wait" (on_pools [ 0; 1; 3 ] ctrl_c_ends_all);
    ]

(* One part more than workers, so that it is cut as Muster likes. *)
let all_begin_at_once workers =
  let start = 0 and finish = workers in
  let each pool =
    let check what loop = begin_at_once what ~workers (fun f -> Task.run pool (fun () -> loop f)) in
    let nothing f i =
      f i;
      None
    in
    check "for" (fun body -> Task.parallel_for ~start ~finish ~body pool);
    check "reduce" (fun body ->
        Task.parallel_for_reduce ~start ~finish ~body pool (fun () () -> ()) ());
    check "find" (fun f -> ignore (Task.parallel_find ~start ~finish ~body:(nothing f) pool))
  in
  case "dear iterations begin at once" (fun () -> with_pool (workers - 1) each)
