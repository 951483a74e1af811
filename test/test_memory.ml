(* What has ended does not stay in memory: each call that starts, waits or registers something, many
   times in one long-lived task, scope and pool. Eight of them are open at a time. *)

open Harness
open Muster

(* [start] begins one, [finish] ends it. On one worker, where nothing depends on chance, it is done
   100,000 times, or [times] if it is slow; on two a tenth as often. A flipped pool of one worker
   would be the same. *)
type 'a kind = { times : int; start : unit -> 'a; finish : 'a -> unit }
type case = Case : string * (Task.scope -> Pool.t -> 'a kind) -> case

type order = Oldest | Newest | Random

let open_at_once = 8
let orders = [ ("oldest first", Oldest); ("newest first", Newest); ("random", Random) ]

(* Below the newest ones the oldest stay open for ever. *)
let next order random i =
  match order with
  | Oldest -> i land (open_at_once - 1)
  | Newest -> if i < open_at_once then i else open_at_once - 1
  | Random -> Random.State.int random open_at_once

(* The less of two looks. Where domains come and go, one look in thousands tells some 49,000 words
   too many, as many as all that is live, and the next one is right again. What is kept is in both. *)
let live_words () =
  let look () =
    Gc.full_major ();
    (Gc.stat ()).live_words
  in
  let first = look () in
  Int.min first (look ())

(* The words by which the second half of the calls has added to what is live. *)
let growth { times; start; finish } order =
  let slots = Stdlib.Array.make open_at_once None and random = Random.State.make [| times |] in
  let step i =
    let at = next order random i in
    Option.iter finish slots.(at);
    slots.(at) <- Some (start ())
  in
  let half from =
    for i = from to from + (times / 2) - 1 do
      step i
    done;
    live_words ()
  in
  let before = half 0 in
  let after = half (times / 2) in
  Stdlib.Array.iter (Option.iter finish) slots;
  after - before

(* {2 The kinds} *)

let many = 100_000
let result () = Bytes.create 100
let await t = ignore (Task.await t)
let await_in pool f = Task.await (Pool.run pool (fun () -> Task.async f))
let await_or_not t = try await t with Task.Cancelled | Exit -> ()

let cancel t =
  Task.cancel t;
  await_or_not t

let kind ?(times = many) start finish = { times; start; finish }
let beside call _ pool = kind (fun () -> call pool; Task.async result) await

let scope_cancelled _ _ =
  kind
    (fun () ->
      let started = ref None in
      (try
         Task.scope (fun s ->
             started := Some (Task.fork s result);
             Task.cancel_scope s)
       with Task.Cancelled -> ());
      Option.get !started)
    await_or_not

let never_sent _ _ =
  let c : unit Chan.t = Chan.unbounded () in
  kind (fun () -> Task.async (fun () -> Chan.recv c)) cancel

let waits _ _ =
  let c : unit Chan.t = Chan.unbounded () and d = Chan.unbounded () in
  kind
    (fun () -> Chan.send d (result ()))
    (fun () ->
      let nothing () = Bytes.empty in
      ignore (Chan.select [ Chan.recv_case c nothing; Chan.recv_case d Fun.id ]))

let key = Task.local Bytes.empty

(* The hook holds what is no result. *)
let with_hook f =
  let held = result () in
  try Task.with_on_cancel (fun () -> ignore (Sys.opaque_identity held)) (fun () -> ignore (f held))
  with Exit -> ()

(* A task that waits for its [finish], whatever it is a part of. *)
let waits_for start =
  let p, resolver = Promise.create () in
  let t = start (fun () -> Bytes.cat (Task.await p) (result ())) in
  Task.yield ();
  (t, resolver)

let finish (t, resolver) =
  Promise.resolve resolver Bytes.empty;
  await t

(* It goes on in an outer scope when its own has ended. *)
let outlives () = Task.scope (fun _ -> waits_for Task.async)

let cases =
  [
    Case ("async", fun _ _ -> kind (fun () -> Task.async result) await);
    Case ("async, cancelled", fun _ _ -> kind (fun () -> Task.async result) cancel);
    Case ("async that fails", fun _ _ ->
      kind (fun () -> Task.async (fun () -> raise Exit)) await_or_not);
    Case ("fork", fun s _ -> kind (fun () -> Task.fork s result) await);
    Case ("fork, cancelled", fun s _ -> kind (fun () -> Task.fork s result) cancel);
    Case ("both", beside (fun _ -> ignore (both result result)));
    Case ("parallel_for", beside (fun _ -> parallel_for ~start:1 ~finish:4 ignore));
    Case ("Team.for_n", beside (fun pool -> Team.for_n pool 4 (fun ~worker:_ _ -> ())));
    Case ("scope", fun _ _ -> kind (fun () -> Task.scope (fun s -> Task.fork s result)) await);
    Case ("scope, cancelled", scope_cancelled);
    Case ("all", fun _ _ -> kind (fun () -> Task.all [ result; result ]) ignore);
    Case ("first", fun _ _ -> kind (fun () -> Task.first [ result; result ]) ignore);
    Case ("with_deadline", fun _ _ ->
      kind (fun () -> Task.with_deadline 100. (fun () -> Task.async result)) await);
    Case ("on_cancel", fun _ _ ->
      kind (fun () -> Task.async (fun () -> Task.on_cancel ignore; result ())) await);
    Case ("with_on_cancel", fun _ _ ->
      kind (fun () -> with_hook Fun.id; Task.async result) await);
    Case ("with_on_cancel that fails", fun _ _ ->
      kind (fun () -> with_hook (fun _ -> raise Exit)) ignore);
    Case ("scope whose task goes on", fun _ _ -> kind outlives finish);
    Case ("fork that waits", fun s _ -> kind (fun () -> waits_for (Task.fork s)) finish);
    Case ("sleep, cancelled", fun _ _ ->
      kind (fun () -> Task.async (fun () -> Task.sleep 1000.)) cancel);
    Case ("with_deadline, cancelled", fun _ _ ->
      let sleep () = Task.sleep 1000. in
      kind (fun () -> Task.async (fun () -> Task.with_deadline 1000. sleep)) cancel);
    Case ("with_local", fun _ _ ->
      kind (fun () -> Task.with_local key (result ()) (fun () -> Task.async result)) await);
    Case ("Promise.create", fun _ _ ->
      kind Promise.create (fun (p, r) -> Promise.resolve r (result ()); await p));
    Case ("await, cancelled", fun _ _ ->
      let p, _ = Promise.create () in
      kind (fun () -> Task.async (fun () -> ignore (Task.await p); result ())) cancel);
    Case ("recv, cancelled", never_sent);
    Case ("select", waits);
    Case ("blocking", fun _ _ -> kind ~times:2_000 (fun () -> Task.blocking result) ignore);
    Case ("Pool.create", fun _ _ ->
      kind ~times:200 (fun () -> Pool.create ~domains:1 ()) Pool.close);
  ]

(* Half a word for each of many calls, or what open pools note of their decisions where these flip:
   some 1,100 words each. On two workers there are fewer calls; but each worker may have left some
   hundred entries, of 30 words or more, that go at its next pushes. What kept each result would add
   70,000 words. *)
let most ~domains times = if domains = 1 then Int.max 12_000 (times / 4) else 30_000

let is_flat domains (Case (_, make)) order () =
  let pool = Pool.create ~domains () in
  let measure s =
    let kind = make s pool in
    let kind = { kind with times = kind.times / if domains = 1 then 1 else 10 } in
    let words = growth kind order in
    check_bool (Printf.sprintf "%d words more" words) true (words < most ~domains kind.times)
  in
  Fun.protect
    ~finally:(fun () -> Pool.close pool)
    (fun () ->
      Pool.run pool (fun () -> Task.await (Task.async (fun () -> Task.scope measure))))

(* {2 What a waiter leaves in the line of a channel that stays, or at a task that goes on} *)

let waiting f =
  let begun = Latch.create 1 in
  let task = Task.async (fun () -> Latch.count_down begun; f ()) in
  Latch.await begun;
  task

let left =
  [
    ("a send, cancelled", fun () ->
      let c = Chan.bounded 0 in
      fun big -> cancel (waiting (fun () -> Chan.send c big)));
    ("a send of a select, cancelled", fun () ->
      let c = Chan.bounded 0 in
      fun big -> cancel (waiting (fun () -> Chan.(select [ send_case c big ignore ]))));
    ("a select that took another case", fun () ->
      let c = Chan.bounded 0 and d = Chan.unbounded () in
      fun big ->
        let task =
          waiting (fun () -> Chan.(select [ send_case c big ignore; recv_case d ignore ]))
        in
        Chan.send d ();
        await task);
    ("a select of a task with a result", fun () ->
      let c = Chan.unbounded () and d = Chan.unbounded () in
      fun big ->
        let one_of_two () = Chan.(select [ recv_case c ignore; recv_case d ignore ]) in
        let task = waiting (fun () -> one_of_two (); big) in
        Chan.send d ();
        await task);
    ("any, which another task has ended", fun () ->
      let never, _ = Promise.create () in
      fun big -> ignore (Task.any [ never; Task.async (fun () -> Task.yield (); big) ]));
    ("any, cancelled", fun () ->
      let never, _ = Promise.create () and c = Chan.unbounded () in
      fun big ->
        let later = Task.async (fun () -> Chan.recv c; big) in
        cancel (waiting (fun () -> Task.any [ never; later ]));
        Chan.send c ();
        ignore (Task.await later));
  ]

(* On one worker: a finaliser runs in the domain that made the value. *)
let keeps_nothing make () =
  run_on 1 @@ fun () ->
  let leave = make () and is_freed = Atomic.make false in
  let[@inline never] go () =
    let big = Bytes.create 8_000 in
    Gc.finalise (fun _ -> Atomic.set is_freed true) big;
    leave big
  in
  Task.await (Task.async go);
  for _ = 1 to 100 do
    await (Task.async result)
  done;
  for _ = 1 to 3 do
    Gc.full_major ()
  done;
  check_bool "freed" true (Atomic.get is_freed);
  ignore (Sys.opaque_identity (ref leave))

(* A job's value comes from a domain that ends: no heap ever fills up. *)
let a_pool_for_each_job () =
  let job () = Stdlib.List.init 30_000 Fun.id in
  let before = (Gc.quick_stat ()).heap_words in
  for _ = 1 to 200 do
    let list = outside ~domains:1 (fun pool -> await_in pool job) in
    check_int "its last" 29_999 (Stdlib.List.nth list 29_999)
  done;
  check_bool "less than half of what the jobs made" true
    ((Gc.quick_stat ()).heap_words - before < 200 * 30_000 * 3 / 2)

let () =
  let of_left (name, make) = case (name ^ ", leaves nothing") (keeps_nothing make) in
  let of_case (Case (name, _) as it) =
    List.concat_map
      (fun domains ->
        List.map
          (fun (how, order) ->
            case (Printf.sprintf "%s, %s, %d workers" name how domains) (is_flat domains it order))
          orders)
      (if flipped then [ 2 ] else [ 1; 2 ])
  in
  Alcotest.run "memory"
    [
      ("what has ended goes", List.concat_map of_case cases);
      ("what a waiter leaves", List.map of_left left);
      ("pools", [ case "a pool for each job" a_pool_for_each_job ]);
    ]
