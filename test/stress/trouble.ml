(* What goes wrong within a task, and is caught there. *)

open Muster

exception Expected

let rec eat n = if n < 0 then n else 1 + eat (n + 1)

let rec eat_in_forks n =
  let a, b = both (fun () -> eat_in_forks (n + 1)) (fun () -> n) in
  a + b

let expect exn f =
  match f () with
  | _ -> failwith "nothing was raised"
  | exception (Task.Cancelled as cancelled) -> raise cancelled
  | exception raised when raised = exn -> ()

let combine a b = if a + b > 20 then raise Expected else a + b

let raise_in_combine () =
  expect Expected (fun () ->
      parallel_reduce ~grain:2 ~start:1 ~finish:100 ~combine ~init:0 (fun _ -> 1))

let raise_in_hook () =
  match
    Task.scope (fun s ->
        Task.on_cancel (fun () ->
            Task.check ();
            raise Expected);
        Task.cancel_scope s;
        Task.check ())
  with
  | () -> failwith "the hook has taken the cancellation"
  | exception Task.Cancelled -> ()

let finalised = Atomic.make 0

(* Code of the finaliser runs at any allocation of the collecting thread. *)
let finalise () =
  let call _ =
    let a, b = both (fun () -> 1) (fun () -> 2) in
    ignore (Task.async (fun () -> ignore (Atomic.fetch_and_add finalised (a + b))))
  in
  Gc.finalise call (ref 0)

let cause (fault : Graph.fault) =
  match fault with
  | Overflow -> expect Stack_overflow (fun () -> eat 0)
  | Overflow_in_forks -> expect Stack_overflow (fun () -> eat_in_forks 0)
  | Memory -> expect Out_of_memory (fun () -> Bytes.length (Bytes.create Sys.max_string_length))
  | Combine -> raise_in_combine ()
  | Hook -> raise_in_hook ()
  | Compact -> Gc.compact ()
  | Full_major -> Gc.full_major ()
  | Finaliser -> finalise ()

(* Tasks behind one that failed are begun and never awaited. Their exceptions find a handler that
   now and then raises itself, which the library tells on stderr. *)
let unseen = Atomic.make 0
let handle _ _ = if Atomic.fetch_and_add unseen 1 mod 1000 = 10 then raise Expected

(* So that an overflow takes little time; in words. *)
let limit_stacks () = Gc.set { (Gc.get ()) with stack_limit = 200_000 }
