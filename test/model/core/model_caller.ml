(* A caller's fiber that waits, and its thread. Any worker goes on with the fiber, once, and neither it
   nor its thread waits for ever. An exception that strikes the thread meanwhile is raised once: where
   the fiber waits, or at the end of the call. *)

open Place

let spell_beside = function
  | [] -> ""
  | parties -> ", beside one that " ^ Model_fork.spell_all parties

let others pool parties = List.mapi (fun i party -> Model_fork.process pool (i + 1) party) parties

(* {2 Struck threads} *)

exception Struck of int

let failure i = Outcome.{ exn = Struck i; backtrace = Printexc.get_callstack 0 }

(* Worker 1 runs the fiber, which waits for nothing but an exception. The thread strikes it, once or
   twice; the second exception is refused as long as the first has yet to be raised. *)
let struck ~times =
  let start () =
    let pool = World.pool 2 ~calls:false in
    let call = Run.call () and heard = ref [] and told = ref [] in
    let body () =
      try Waiter.wait_firmly (Event.make "a test") ignore with Struck i -> heard := i :: !heard
    in
    let p = Promise.(any (make nowhere body)) in
    let hosts w =
      Fiber.switch w { (Fiber.plain w ~handled:true) with call = Some call };
      Run.in_fiber p;
      Fiber.switch w w.own.idle;
      Worker.work w ~on_top:false ~until:(fun () -> Promise.is_done p)
    in
    let strikes _ =
      for i = 1 to times do
        if Fiber.strike call (failure i) then told := i :: !told
      done
    in
    let left () = match Fiber.take_strike call with None -> 0 | Some _ -> 1 in
    let verdict () =
      Model.faults
        [
          ("the fiber waits for ever", not (Promise.is_done p));
          ("an exception is raised twice, or not at all", List.length !heard <> 1);
          ("one is lost, or refused for nothing", List.length !told <> 1 + left ());
          ("the pool counts it as suspended", Atomic.get pool.suspended <> 0);
        ]
    in
    Model.{ processes = [ World.at pool 0 strikes; World.at pool 1 hosts ]; verdict }
  in
  Model.make (Printf.sprintf "struck %d times, its fiber waits elsewhere" times) start

type ending = Returned | Broken

(* The whole call. Its thread is struck in its first sleep, if it sleeps; its fiber waits for an
   event that comes. If the fiber [waits_on], only the exception can end its second wait. *)
let call ?bound ~waits_on parties =
  let start () =
    let pool = World.pool (List.length parties + 1) ~calls:false in
    let t =
      Model_waiter.
        { pool; slot = Atomic.make Nothing; context = uncancelled; outer = Promise.(started nowhere);
          endings = [] }
    in
    let result = ref None in
    let body _ =
      Waiter.wait_firmly (Event.make "a test") (Model_waiter.register t);
      if waits_on then Waiter.wait_firmly (Event.make "a test") ignore
    in
    let calls w =
      let fiber = Fiber.within w ~number:1 ~part_of:None in
      result :=
        Some
          (match Caller.in_fiber fiber body w with
          | () -> Returned
          | exception Stdlib.Sys.Break -> Broken)
    in
    Machine.(early := [ (0, Interrupt) ]);
    let verdict () =
      let is_struck = !Machine.happened > 0 in
      let later = Atomic.get pool.strays <> [] in
      Model.faults
        [
          ("the call does not end", !result = None && (is_struck || not waits_on));
          ("broken, and not struck", !result = Some Broken && not is_struck);
          ("the exception is lost", is_struck && !result = Some Returned && not later);
          ("the exception comes twice", !result = Some Broken && later);
        ]
    in
    let processes = (World.at pool 0 calls :: others pool parties) @ [ Model_waiter.grant t ] in
    Model.{ processes; verdict }
  in
  let again = if waits_on then ", and waits for ever" else "" in
  Model.make ?bound ("call that is struck as it waits" ^ again ^ spell_beside parties) start

(* {2 Strays}

   One is of another thread, and stays; one is anybody's, and two look for it. *)

let strays =
  let start () =
    let pool = World.pool 1 ~calls:false and raised = ref [] in
    let leaves thread i () = Worker.keep_stray pool ~thread (Struck i) in
    let takes () = try Worker.take_stray pool with Struck i -> raised := i :: !raised in
    let left i () = List.mem (Struck i) (List.map snd (Atomic.get pool.strays)) in
    let verdict () =
      Model.faults
        [
          ("another thread's is gone", List.mem 1 !raised || not (left 1 ()));
          ("one is raised twice, or lost", List.length !raised + Bool.to_int (left 2 ()) <> 1);
        ]
    in
    Model.{ processes = [ leaves 99 1; leaves 0 2; takes; takes ]; verdict }
  in
  Model.make "strays: two come, two look" start

let quick = [ struck ~times:1; call [] ~waits_on:false; strays ]

(* Those with a bound have more than 5 million runs. *)
let slow =
  Model_fork.
    [
      struck ~times:2;
      call [] ~waits_on:true;
      call [ Loops ] ~waits_on:false ~bound:300_000;
      call [ Loops ] ~waits_on:true ~bound:300_000;
    ]
