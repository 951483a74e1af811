(* What has to be released, and code that is not cancelled. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List

(* A resource, and the steps that were done with it. *)
let steps () =
  let done_ = ref [] in
  let note it = done_ := it :: !done_ in
  (note, fun () -> List.rev !done_)

let bracket note ?(release = ignore) use =
  Task.bracket
    ~acquire:(fun () ->
      note "acquired";
      7)
    ~release:(fun r ->
      check_int "the resource" 7 r;
      release ();
      note "released")
    (fun r ->
      check_int "the resource" 7 r;
      use ())

let returns () =
  let note, all = steps () in
  check_int "result" 1 (bracket note (fun () -> note "used"; 1));
  check_bool "in order" true (all () = [ "acquired"; "used"; "released" ])

exception Failed_here

let origin_line = __LINE__ + 1
let raise_it () = raise Failed_here

let raises () =
  let note, all = steps () in
  check_raises_with_origin ~file:"test_bracket.ml" ~line:origin_line "origin" (fun () ->
      bracket note raise_it);
  check_bool "released" true (all () = [ "acquired"; "released" ]);
  check_raises "acquire" (Failed 1) (fun () ->
      Task.bracket
        ~acquire:(fun () -> raise (Failed 1))
        ~release:(fun () -> failf "released")
        (fun () -> failf "used"));
  let note, _ = steps () in
  match bracket note ~release:(fun () -> raise (Failed 2)) ignore with
  | () -> failf "no exception"
  | exception Fun.Finally_raised (Failed 2) -> ()

(* Cancelled while [use] waits, as it returns, or as it fails: [release] waits to its end. *)
let cancelled_in how domains () =
  in_pool domains (fun () ->
      let note, all = steps () in
      let began = Atomic.make false in
      let slow_release () =
        Task.sleep 0.005;
        Task.check ();
        check_int "a task" 3 (Task.await (Task.async (fun () -> 3)));
        check_int "forks" 55 (fib 10)
      in
      let t = ref None in
      let use () =
        Atomic.set began true;
        match how with
        | `Waits -> Latch.await (Latch.create 1)
        | `Returns -> Option.iter Task.cancel !t
        | `Fails ->
          Option.iter Task.cancel !t;
          raise (Failed 3)
      in
      let after = ref "" in
      let go = Latch.create 1 in
      let body () =
        Latch.await go;
        (try bracket note ~release:slow_release use with Failed 3 -> ());
        after := "went on";
        Task.check ();
        after := "was not told"
      in
      let task = Task.async body in
      t := Some task;
      Latch.count_down go;
      while not (Atomic.get began) do
        Task.sleep 0.001
      done;
      Task.cancel task;
      check_cancelled "the task" (fun () -> Task.await task);
      check_bool "released" true (all () = [ "acquired"; "released" ]);
      check_equal "told afterwards" (if how = `Waits then "" else "went on") !after)

let deadline () =
  let note, all = steps () in
  check_raises "deadline" Task.Deadline_exceeded (fun () ->
      Task.with_deadline 0.005 (fun () ->
          bracket note
            ~release:(fun () -> Task.sleep 0.02)
            (fun () -> Task.sleep 100.)));
  check_bool "released" true (all () = [ "acquired"; "released" ]);
  let note, all = steps () in
  check_raises "deadline, in the release" Task.Deadline_exceeded (fun () ->
      Task.with_deadline 0.005 (fun () ->
          bracket note ~release:(fun () -> Task.sleep 0.02) ignore;
          Task.check ()));
  check_bool "released to the end" true (all () = [ "acquired"; "released" ])

let scope_is_stopped () =
  let released = Atomic.make 0 in
  let task () =
    Task.bracket ~acquire:ignore
      ~release:(fun () ->
        Task.sleep 0.002;
        Atomic.incr released)
      (fun () -> Latch.await (Latch.create 1))
  in
  check_raises "the failure" (Failed 1) (fun () ->
      Task.scope (fun s ->
          for _ = 1 to 20 do
            ignore (Task.fork s task)
          done;
          Task.sleep 0.01;
          raise (Failed 1)));
  check_int "all that had begun" 20 (Atomic.get released)

(* {2 Protect} *)

let is_not_told () =
  let told_within = ref false and told_after = ref false in
  let waited = ref 0 in
  (try
     Task.scope (fun s ->
         Task.protect (fun () ->
             Task.cancel_scope s;
             (try
                Task.check ();
                ignore (both ignore ignore);
                Task.sleep 0.002;
                waited := Task.await (Task.async (fun () -> 5));
                waited := !waited + Task.scope (fun s -> Task.await (Task.fork s (fun () -> 1)))
              with Task.Cancelled -> told_within := true));
         try Task.check ()
         with Task.Cancelled as exn ->
           told_after := true;
           raise exn)
   with Task.Cancelled -> ());
  check_bool "within" false !told_within;
  check_int "waits" 6 !waited;
  check_bool "after" true !told_after

(* Scopes and deadlines that it opens are its own. *)
let own_scopes () =
  Task.protect (fun () ->
      check_raises "deadline" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.005 (fun () -> Task.sleep 100.));
      check_cancelled "scope" (fun () ->
          Task.scope (fun s ->
              Task.cancel_scope s;
              Task.sleep 100.)));
  Task.check ()

let passes_on () =
  check_int "result" 3 (Task.protect (fun () -> 3));
  check_raises_with_origin ~file:"test_bracket.ml" ~line:origin_line "origin" (fun () ->
      Task.protect raise_it);
  check_int "nested" 4 (Task.protect (fun () -> Task.protect (fun () -> 4)))

let () =
  let on name f domains = case (Printf.sprintf "%s, %d domains" name domains) (f domains) in
  Alcotest.run "bracket"
    [
      ( "bracket",
        [
          case "returns" (everywhere returns);
          case "raises" (everywhere raises);
          on "cancelled while it waits" (cancelled_in `Waits) 1;
          on "cancelled while it waits" (cancelled_in `Waits) 2;
          on "cancelled as it returns" (cancelled_in `Returns) 1;
          on "cancelled as it returns" (cancelled_in `Returns) 2;
          on "cancelled as it fails" (cancelled_in `Fails) 1;
          on "cancelled as it fails" (cancelled_in `Fails) 2;
          case "a deadline" (everywhere deadline);
          case "a scope that is stopped" (everywhere scope_is_stopped);
        ] );
      ( "protect",
        [
          case "is not told" (everywhere is_not_told);
          case "scopes of its own" (everywhere own_scopes);
          case "results and exceptions" (everywhere passes_on);
        ] );
    ]
