(* Loops over two dimensions, and loops with a state for each call at a time. *)

open Harness
module Task = Muster.Task
module Chan = Muster.Chan

exception Boom of int * int

let on_some_counts f () = List.iter (fun domains -> run_on domains f) [ 1; 2; 3; 8 ]

(* {2 Two dimensions} *)

type rectangle = {
  start : int * int;
  finish : int * int;
  grain : int option;
  raising : (int * int) list;
}

let print r =
  let pair (i, j) = Printf.sprintf "(%d, %d)" i j in
  let grain = Option.fold ~none:"default" ~some:string_of_int r.grain in
  Printf.sprintf "%s to %s, grain %s, raising at %s" (pair r.start) (pair r.finish) grain
    (String.concat " " (List.map pair r.raising))

(* The bounds of one side: some at an end of the integers. *)
let side =
  let open QCheck.Gen in
  let* length = oneof [ int_range 0 3; int_range 0 40 ] in
  let+ start = oneof [ int_range (-50) 50; return min_int; return (max_int - length + 1) ] in
  if length = 0 then (start, if start = min_int then start else start - 1)
  else (start, start + length - 1)

let any_rectangle =
  let open QCheck.Gen in
  let generator =
    let* top, bottom = side in
    let* left, right = side in
    let* grain = oneof [ return None; map Option.some (oneof [ int_range 1 50; return max_int ]) ] in
    let inside = map2 (fun i j -> (top + i, left + j)) (int_range 0 40) (int_range 0 40) in
    let+ raising = list_size (int_range 0 2) inside in
    { start = (top, left); finish = (bottom, right); grain; raising }
  in
  QCheck.make ~print generator

let plainly ~start:(top, left) ~finish:(bottom, right) f =
  for i = top to bottom do
    for j = left to right do
      f i j
    done
  done

(* Pairs that were called, each once; where nothing raises they are all. *)
let for2_agrees _ { start; finish; grain; raising } =
  let seen = Atomic.make [] in
  let rec note pair =
    let old = Atomic.get seen in
    if not (Atomic.compare_and_set seen old (pair :: old)) then note pair
  in
  let body i j =
    note (i, j);
    if List.mem (i, j) raising then raise (Boom (i, j))
  in
  let run loop =
    Atomic.set seen [];
    let result = outcome (fun () -> loop body) in
    (result, List.sort compare (Atomic.get seen))
  in
  let theirs, all = run (plainly ~start ~finish) in
  let ours, called = run (fun f -> Muster.parallel_for2 ?grain ~start ~finish f) in
  let is_called pair = List.mem pair called in
  ours = theirs
  && List.length (List.sort_uniq compare called) = List.length called
  && if Result.is_ok theirs then called = all else List.for_all is_called all

(* No such loop could be run to its end. *)
let every_pair () =
  let fail i j = if j < min_int + 3 then raise (Boom (i, j)) in
  let check ~start ~finish what =
    check_raises what (Boom (fst start, snd start)) (fun () -> Muster.parallel_for2 ~start ~finish fail)
  in
  check "all" ~start:(min_int, min_int) ~finish:(max_int, max_int);
  check "many columns" ~start:(0, min_int) ~finish:(1, max_int);
  check "many rows" ~start:(min_int, min_int) ~finish:(max_int, min_int);
  check "as many as there are ints" ~start:(0, min_int) ~finish:((1 lsl 31) - 1, min_int + (1 lsl 31))

(* {2 States} *)

type state = { mutable in_use : bool; mutable calls : int }

(* [f made body] runs a loop with such states; what comes back is all of them. *)
let with_states f =
  let made = Atomic.make [] in
  let rec init () =
    let state = { in_use = false; calls = 0 } and old = Atomic.get made in
    if Atomic.compare_and_set made old (state :: old) then state else init ()
  in
  f init;
  Atomic.get made

let alone state f =
  if state.in_use then failf "two calls have a state";
  state.in_use <- true;
  state.calls <- state.calls + 1;
  f ();
  state.in_use <- false

(* All loops with states: over [n] indices, given what to do with a state and an index. *)
let loops n =
  let numbers = Array.init n Fun.id and list = List.init n Fun.id in
  let floats = Float.Array.init n float_of_int in
  let big = Bigarray.(Array1.init Int C_layout n Fun.id) in
  let float f s x =
    f s (int_of_float x);
    x
  and int f s x =
    f s x;
    x
  in
  [
    ("for", fun init f -> Muster.parallel_for_init ~start:0 ~finish:(n - 1) ~init f);
    ("Array", fun init f -> ignore (Muster.Parallel.Array.map_init ~init f numbers));
    ("List", fun init f -> ignore (Muster.Parallel.List.map_init ~init f list));
    ("Floatarray", fun init f -> ignore (Muster.Parallel.Floatarray.map_init ~init (float f) floats));
    ("Bigarray", fun init f -> ignore (Muster.Parallel.Bigarray.Array1.map_init ~init (int f) big));
  ]

let each_loop n check () =
  List.iter (fun domains -> List.iter (fun loop -> run_on domains (fun () -> check domains loop)) (loops n)) [ 1; 2; 3; 8 ]

let spin k =
  for _ = 1 to k do
    ignore (Sys.opaque_identity k)
  done

(* No more than workers, if no call waits; each index once. *)
let one_for_each_worker n domains (what, loop) =
  let calls = counters n in
  let states =
    with_states (fun init ->
        loop init (fun state i ->
            alone state (fun () -> spin (1_000 * (i land 3)));
            Atomic.incr calls.(i)))
  in
  each_once what calls;
  check_int (what ^ ", all calls") n (List.fold_left (fun sum state -> sum + state.calls) 0 states);
  let most = List.length states in
  if most > domains || most < Int.min n 1 then failf "%s of %d: %d states on %d" what n most domains

(* Calls that wait keep theirs, while others run on the same worker. *)
let kept_across_a_wait domains (what, loop) =
  let tell = Chan.bounded 0 in
  let feed () =
    for _ = 1 to 40 do
      Task.sleep 0.000_2;
      Chan.send tell ()
    done
  in
  let feeder = Task.async feed in
  let states = with_states (fun init -> loop init (fun state _ -> alone state (fun () -> Chan.recv tell))) in
  Task.await feeder;
  check_int (what ^ ", all calls") 40 (List.fold_left (fun sum state -> sum + state.calls) 0 states);
  if domains > 1 && List.length states < 2 then failf "%s: nothing ran while a call waited" what

(* The exception is that of the loop without a state, and its state is not used again. *)
let raises _ (what, loop) =
  let raised = Atomic.make [] in
  let body state i =
    if List.memq state (Atomic.get raised) then failf "%s: used again" what;
    if i land 7 = 5 then begin
      Atomic.set raised (state :: Atomic.get raised);
      raise (Boom (i, 0))
    end
  in
  ignore
    (with_states (fun init -> check_raises what (Boom (5, 0)) (fun () -> loop init body)))

let init_raises _ (what, loop) =
  check_raises what Exit (fun () -> loop (fun () -> raise Exit) (fun () _ -> failf "called"));
  (* The caller's first succeeds. *)
  let first = Atomic.make true in
  let init () = if not (Atomic.exchange first false) then raise Exit in
  match loop init (fun () _ -> Unix.sleepf 0.000_1) with () | (exception Exit) -> ()

let of_nothing _ (what, loop) =
  let states = with_states (fun init -> loop init (fun _ _ -> ())) in
  check_equal what [] states

let is_cancelled domains (what, loop) =
  let calls = Atomic.make 0 in
  check_raises (Printf.sprintf "%s on %d" what domains) Task.Cancelled (fun () ->
      Task.scope (fun scope ->
          loop ignore (fun () i ->
              Atomic.incr calls;
              if i = 100 then Task.cancel_scope scope;
              spin 1_000)));
  if Atomic.get calls > 90_000 then failf "%s goes on to its end" what

let () =
  Alcotest.run "states"
    [
      ( "two dimensions",
        List.map
          (fun domains -> property ~domains "as nested loops" any_rectangle for2_agrees)
          [ 1; 2; 3; 8 ]
        @ [ case "a loop over all pairs ends at an exception" (on_some_counts every_pair) ] );
      ( "states",
        [
          case "one for each worker, each index once" (each_loop 1_000 (one_for_each_worker 1_000));
          case "of few" (each_loop 3 (one_for_each_worker 3));
          case "kept across a wait" (each_loop 40 kept_across_a_wait);
          case "the leftmost exception" (each_loop 40 raises);
          case "an exception of init" (each_loop 40 init_raises);
          case "none for nothing" (each_loop 0 of_nothing);
          case "cancelled" (each_loop 100_000 is_cancelled);
        ] );
    ]
