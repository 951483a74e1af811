(* What each rank does in test_mpi. The first argument names it; rank 0 says "ok" at the end. *)

module M = Muster_mpi

exception Boom of int

let check what condition = if not condition then failwith what
let floats n = Array.init n (fun i -> sin (float_of_int i))

(* {2 Answers} *)

let reductions () =
  let sine i = sin (float_of_int i) in
  let check_range ?grain start finish =
    let what = Printf.sprintf "reduce %d..%d" start finish in
    let combine = ( +. ) and init = 0. in
    check what
      (M.parallel_reduce ?grain ~start ~finish ~combine ~init sine
      = Muster.parallel_reduce ?grain ~start ~finish ~combine ~init sine);
    let part ~start ~finish =
      let sum = ref 0. in
      for i = start to finish do
        sum := !sum +. sine i
      done;
      !sum
    in
    check (what ^ ", in parts")
      (M.parallel_reduce_range ?grain ~start ~finish ~combine ~init part
      = Muster.parallel_reduce_range ?grain ~start ~finish ~combine ~init part)
  in
  List.iter (fun n -> check_range 1 n) [ 0; 1; 2; 3; 4; 5; 7; 100; 511; 512; 513; 1_000; 10_000 ];
  List.iter (fun grain -> check_range ~grain 1 1_000) [ 1; 3; 999; 5_000 ];
  check_range (-100) 100;
  let text =
    M.parallel_reduce ~start:1 ~finish:200 ~combine:( ^ ) ~init:"" (Printf.sprintf "%d,")
  in
  check "in order" (text = String.concat "" (List.init 200 (fun i -> Printf.sprintf "%d," (i + 1))))

let loops () =
  let runs = Array.init 1_000 (fun _ -> Atomic.make 0) in
  M.parallel_for ~start:0 ~finish:999 (fun i -> Atomic.incr runs.(i));
  let own = Array.map Atomic.get runs in
  let finish = M.ranks () - 1 in
  let total i = M.parallel_reduce ~start:0 ~finish ~combine:( + ) ~init:0 (fun _ -> own.(i)) in
  check "each once" (List.for_all (fun i -> total i = 1) [ 0; 1; 333; 500; 999 ]);
  M.parallel_for ~start:1 ~finish:0 (fun _ -> failwith "empty");
  List.iter
    (fun n ->
      let a = floats n in
      check "scan" (M.parallel_scan ( +. ) a = Muster.parallel_scan ( +. ) a))
    [ 0; 1; 5; 1_024; 1_025; 5_000 ];
  let find wanted = M.parallel_find ~start:0 ~finish:9_999 (fun i -> if i >= wanted then Some i else None) in
  List.iter (fun wanted -> check "find" (find wanted = Some wanted)) [ 0; 1; 63; 64; 5_000; 9_999 ];
  check "nothing" (find 10_000 = None)

let arrays () =
  let check_init what n f =
    let expected = Array.init n f in
    check what (M.Array.init n f = expected);
    let last = M.ranks () - 1 in
    check (what ^ ", on one") (M.Array.init ~on:last n f = if M.rank () = last then expected else [||])
  in
  List.iter
    (fun n ->
      check_init "ints" n Fun.id;
      check_init "floats" n float_of_int;
      check_init "strings" n string_of_int;
      check_init "one string among ints" n (fun i -> if i = n - 1 then Some i else None))
    [ 0; 1; 2; 3; 5; 256; 257; 1_000; 100_000 ];
  check_init "in large pages" 1_000_000 float_of_int;
  (* Nearly as long as a slot: there of some ranks, in packets of others. *)
  for length = 60 to 130 do
    check_init "slots" (M.ranks ()) (fun i -> String.make (length + i) 'x')
  done;
  check "map" (M.Array.map string_of_int (Array.init 100 Fun.id) = Array.init 100 string_of_int);
  let spread = M.Spread.(map (fun x -> x *. 2.) (init 1_000 float_of_int)) in
  let own = M.Spread.own spread and first = M.Spread.first spread in
  check "own" (Array.length own = 0 || own.(0) = 2. *. float_of_int first);
  check "gather" (M.Spread.gather spread = Array.init 1_000 (fun i -> 2. *. float_of_int i))

let values () =
  let check_value what v = check what (M.broadcast ~root:(M.ranks () - 1) (fun () -> v) = v) in
  check_value "int" 42;
  check_value "string" "text";
  check_value "long string" (String.make 1_000_000 'x');
  check_value "floats" (floats 100_000);
  let matrix = Bigarray.Array2.init Float64 C_layout 100 100 (fun i j -> float_of_int (i * j)) in
  let got = M.broadcast (fun () -> matrix) in
  check "bigarray" (got.{7, 8} = 56.);
  let f = M.broadcast (fun () -> ( + ) 1) in
  check "function" (f 1 = 2);
  M.barrier ()

let messages () =
  let port = M.Port.create () and texts = M.Port.create () in
  let right = (M.rank () + 1) mod M.ranks () and left = (M.rank () + M.ranks () - 1) mod M.ranks () in
  for i = 1 to 50 do
    M.Port.send port ~dest:right (i, floats (i * 200));
    M.Port.send texts ~dest:right (string_of_int i)
  done;
  for i = 1 to 50 do
    check "texts" (M.Port.receive texts ~source:left = string_of_int i);
    check "in order" (M.Port.receive port ~source:left = (i, floats (i * 200)))
  done

let jobs () =
  let n = 200 in
  let inputs = Array.init n Fun.id in
  let job i =
    if i mod 20 = 0 then Unix.sleepf 0.005;
    i * i
  in
  check "jobs" (M.parallel_map_dynamic job inputs = Array.map (fun i -> i * i) inputs);
  check "none" (M.parallel_map_dynamic job [||] = [||]);
  match M.parallel_map_dynamic (fun i -> if i >= 50 then raise (Boom i) else i) inputs with
  | _ -> failwith "no exception"
  | exception M.Raised { exn; _ } -> check "leftmost job" (exn = Printexc.to_string (Boom 50))

(* A deadline ends the call on all ranks, whichever rank has it, and leaves no message to the next. *)
let deadlines () =
  let inputs = Array.init 60 Fun.id in
  let job i =
    for _ = 1 to 20 do
      Unix.sleepf 0.001;
      Muster.Task.check ()
    done;
    i
  in
  let with_deadline_on rank f =
    if M.rank () = rank then Muster.Task.with_deadline 0.05 f else f ()
  in
  (* It may have passed when the call begins. *)
  let late (rank, pause) =
    let call () =
      Unix.sleepf pause;
      M.parallel_map_dynamic job inputs
    in
    match with_deadline_on rank call with
    | (_ : int array) -> failwith "not late"
    | exception (M.Raised _ | Muster.Task.Deadline_exceeded | Muster.Task.Cancelled) ->
      check "the next call" (M.parallel_map_dynamic string_of_int inputs = Array.map string_of_int inputs)
  in
  let last = M.ranks () - 1 in
  List.iter late (List.sort_uniq compare [ (0, 0.); (last, 0.); (0, 0.1); (last, 0.1) ])

(* A result that cannot be sent is its job's failure. *)
let unsendable () =
  let job _ =
    Unix.sleepf 0.001;
    if M.rank () = 0 then Obj.repr () else Obj.repr (Mutex.create ())
  in
  match M.parallel_map_dynamic job (Array.init 100 Fun.id) with
  | (_ : Obj.t array) -> check "alone" (M.ranks () = 1)
  | exception M.Raised { exn; _ } ->
    let reason = "Muster_mpi.parallel_map_dynamic: a value cannot be sent: abstract value (Custom)" in
    check exn (exn = Printexc.to_string (Invalid_argument reason))

let exceptions () =
  let raised what expected f =
    match f () with
    | () -> failwith (what ^ ": no exception")
    | exception M.Raised { exn; backtrace; _ } ->
      check (what ^ ": " ^ exn) (exn = Printexc.to_string expected);
      check (what ^ ": backtrace") (backtrace <> "")
  in
  let raise_from first i = if i >= first then raise (Boom i) in
  List.iter
    (fun first ->
      raised "for" (Boom first) (fun () -> M.parallel_for ~start:0 ~finish:999 (raise_from first));
      raised "reduce" (Boom first) (fun () ->
          M.parallel_reduce ~start:0 ~finish:999 ~combine:(fun () () -> ()) ~init:() (raise_from first));
      raised "find" (Boom first) (fun () ->
          ignore
            (M.parallel_find ~start:0 ~finish:999 (fun i ->
                 raise_from first i;
                 None)));
      raised "init" (Boom first) (fun () ->
          ignore
            (M.Array.init 1_000 (fun i ->
                 raise_from first i;
                 i))))
    [ 0; 1; 499; 500; 999 ];
  raised "combine" (Boom 0) (fun () ->
      M.parallel_reduce ~start:0 ~finish:9 ~combine:(fun () () -> raise (Boom 0)) ~init:() ignore);
  let rank_1 = M.ranks () - 1 in
  raised "one rank alone" (Failure "mine") (fun () ->
      M.parallel_for ~start:0 ~finish:(M.ranks () - 1) (fun i -> if i = rank_1 then failwith "mine"));
  raised "nested" (Invalid_argument "Muster_mpi.barrier: called within parallel_for 0..99") (fun () ->
      M.parallel_for ~start:0 ~finish:99 (fun _ -> M.barrier ()));
  raised "a mutex"
    (Invalid_argument "Muster_mpi.broadcast: a value cannot be sent: abstract value (Custom)")
    (fun () -> ignore (M.broadcast Mutex.create));
  let look i =
    raise_from 4 i;
    if i = 3 then Some i else None
  in
  check "a find left of an exception" (M.parallel_find ~start:0 ~finish:999 look = Some 3)

let refused what expected f =
  match f () with
  | _ -> failwith (what ^ " is not refused")
  | exception Invalid_argument text -> check text (text = expected)

let bad_input () =
  let ranks = M.ranks () in
  let none fn what = Printf.sprintf "Muster_mpi.%s: %s = %d is none of %d ranks" fn what ranks ranks in
  let port = M.Port.create () in
  refused "root" (none "broadcast" "root") (fun () -> M.broadcast ~root:ranks ignore);
  refused "dest" (none "Port.send" "dest") (fun () -> M.Port.send port ~dest:ranks ());
  refused "source" (none "Port.receive" "source") (fun () -> M.Port.receive port ~source:ranks);
  refused "on" (none "Array.init" "on") (fun () -> ignore (M.Array.init ~on:ranks 1 Fun.id));
  refused "on" (none "Spread.gather" "on") (fun () ->
      ignore (M.Spread.gather ~on:ranks (M.Spread.init 1 Fun.id)));
  refused "length" "Muster_mpi.Array.init: length = -1 is negative" (fun () ->
      ignore (M.Array.init (-1) Fun.id));
  refused "length" "Muster_mpi.Spread.init: length = -1 is negative" (fun () ->
      ignore (M.Spread.init (-1) Fun.id));
  refused "grain" "Muster_mpi.parallel_reduce: grain = 0 is less than 1" (fun () ->
      M.parallel_reduce ~grain:0 ~start:1 ~finish:2 ~combine:( + ) ~init:0 Fun.id);
  refused "grain" "Muster_mpi.parallel_reduce_range: grain = 0 is less than 1" (fun () ->
      M.parallel_reduce_range ~grain:0 ~start:1 ~finish:2 ~combine:( + ) ~init:0
        (fun ~start ~finish:_ -> start));
  refused "run" "Muster_mpi.run: called twice" (fun () -> M.run ignore)

let answers () =
  List.iter
    (fun f -> f ())
    [ reductions; loops; arrays; values; messages; jobs; deadlines; unsendable; exceptions; bad_input ]

(* {2 Faults} *)

let here = Sys.argv
let say_started () = if M.rank () = 0 then print_endline "started"

(* Finished jobs are in the file, also of a program that was killed. *)
let checkpoint path ~stop_at =
  let begun = Atomic.make 0 in
  let job i =
    Atomic.incr begun;
    if i = stop_at then Unix.kill (Unix.getpid ()) Sys.sigkill;
    Unix.sleepf 0.001;
    i * i
  in
  let inputs = Array.init 100 Fun.id in
  check "results" (M.parallel_map_dynamic ~checkpoint:path job inputs = Array.map (fun i -> i * i) inputs);
  let own = Atomic.get begun in
  let all = M.parallel_reduce ~start:1 ~finish:(M.ranks ()) ~combine:( + ) ~init:0 (fun _ -> own) in
  if M.rank () = 0 then Printf.printf "begun %d\n" all

let last () = M.rank () = M.ranks () - 1

(* The last rank is at its end long before rank 0 receives, if it does. *)
let sends_and_ends ~is_received =
  let port = M.Port.create () and long = String.make 4_000_000 'x' in
  if last () then M.Port.send port ~dest:0 long;
  if M.rank () = 0 then begin
    Unix.sleepf 0.5;
    if is_received then check "the message" (M.Port.receive port ~source:(M.ranks () - 1) = long);
    print_endline "ok"
  end;
  exit 0

let cases =
  [
    ("answers", answers);
    ("cpus", fun () -> Printf.printf "domains %d\n%!" Muster.Pool.(size (default ())));
    ("different", fun () -> if last () then ignore (M.broadcast Fun.id) else M.barrier ());
    ("different ranges", fun () -> M.parallel_for ~start:1 ~finish:(10 + M.rank ()) ignore);
    ( "different grains",
      fun () ->
        let grain = 1 + M.rank () in
        ignore (M.parallel_reduce ~grain ~start:1 ~finish:10 ~combine:( + ) ~init:0 Fun.id) );
    ("different places", fun () -> ignore (M.Array.init ~on:(M.rank ()) 10 Fun.id));
    ("ends early", fun () -> if not (last ()) then M.barrier ());
    ("exits alone", fun () -> if last () then exit 0 else M.barrier ());
    ("all exit", fun () -> exit 5);
    ("raises alone", fun () -> if last () then failwith "alone" else M.barrier ());
    ("all raise", fun () -> M.parallel_for ~start:0 ~finish:99 (fun _ -> failwith "together"));
    ( "is killed",
      fun () ->
        if last () then Unix.kill (Unix.getpid ()) Sys.sigkill;
        M.barrier () );
    ( "computes",
      fun () ->
        say_started ();
        M.parallel_for ~start:0 ~finish:99 (fun _ -> Unix.sleepf 10.) );
    ( "waits for a message",
      fun () ->
        let port : unit M.Port.t = M.Port.create () in
        if last () then M.Port.receive port ~source:0 else M.barrier () );
    ("sends and ends", fun () -> sends_and_ends ~is_received:true);
    ("sends in vain", fun () -> sends_and_ends ~is_received:false);
    ("checkpoint", fun () -> checkpoint here.(2) ~stop_at:(int_of_string here.(3)));
    ( "another function",
      fun () ->
        ignore (M.parallel_map_dynamic ~checkpoint:here.(2) string_of_int (Array.init 100 Fun.id)) );
    ("other jobs", fun () -> ignore (M.parallel_map_dynamic ~checkpoint:here.(2) Fun.id [| "other" |]));
  ]

let outside () =
  let text call = Printf.sprintf "Muster_mpi.%s: called outside of run" call in
  refused "a call" (text "barrier") M.barrier;
  let port = M.Port.create () in
  refused "a message" (text "Port.send") (fun () -> M.Port.send port ~dest:0 ())

let () =
  outside ();
  M.run (fun () ->
      (List.assoc here.(1) cases) ();
      M.barrier ();
      if M.rank () = 0 then print_endline "ok");
  outside ()
