(* Muster_mpi beside MPI in C and beside domains of one process: without arguments this program starts
   itself under mpirun, in turn, and prints a table; with one it is what each rank runs. *)

module M = Muster_mpi

external bare_allreduce : int -> float = "bench_allreduce"
external bare_allgather : int -> float = "bench_allgather"

let timed f =
  M.barrier ();
  let began = Unix.gettimeofday () in
  f ();
  M.barrier ();
  Unix.gettimeofday () -. began

(* The least of several: what a neighbour disturbs is longer. *)
let least times f = List.fold_left Float.min infinity (List.init times (fun _ -> f ()))

(* Of two programs or calls, in turn. *)
let least_of_both times f g =
  let turns = List.init times (fun _ -> (f (), g ())) in
  let least side = List.fold_left (fun least turn -> Float.min least (side turn)) infinity turns in
  (least fst, least snd)

let tell name seconds = if M.rank () = 0 then Printf.printf "%s %.9f\n%!" name seconds

(* {2 What ranks run} *)

let bodies = 1_150
let points = 1_500_000
let steps = 100

(* A second of work: so many steps as long as the least, since few whole seconds of a shared machine are
   undisturbed. *)
let tell_program step =
  let least = least (3 * steps) (fun () -> timed step) in
  tell "time" (float_of_int steps *. least)

let n_body () =
  let xs = ref (Array.init bodies (fun i -> float_of_int (i * 7919 mod 1000))) in
  let pull i =
    let xs = !xs in
    let x = xs.(i) and force = ref 0. in
    for j = 0 to bodies - 1 do
      let d = xs.(j) -. x in
      force := !force +. (d /. ((d *. d) +. 1.) ** 1.5)
    done;
    x +. (!force *. 1e-6)
  in
  tell_program (fun () -> xs := M.Array.init bodies pull)

let monte_carlo () =
  let hits ~start ~finish =
    let random = Muster.random_state ~seed:1 start and hits = ref 0 in
    for _ = start to finish do
      let x = Random.State.float random 1. and y = Random.State.float random 1. in
      if (x *. x) +. (y *. y) < 1. then incr hits
    done;
    !hits
  in
  tell_program (fun () ->
      ignore (M.parallel_reduce_range ~start:1 ~finish:points ~combine:( + ) ~init:0 hits))

let tell_both times ours bare =
  let ours, bare = least_of_both times ours bare in
  tell "ours" ours;
  tell "bare" bare

let rounds = 100

let reduce () =
  let ours () =
    timed (fun () ->
        for _ = 1 to rounds do
          let finish = M.ranks () in
          ignore (M.parallel_reduce ~start:1 ~finish ~combine:( +. ) ~init:0. float_of_int)
        done)
  in
  tell_both 500 ours (fun () -> bare_allreduce rounds)

let elements = 10_000_000

let gather () =
  let ours () = timed (fun () -> ignore (Sys.opaque_identity (M.Array.init elements float_of_int))) in
  tell_both 20 ours (fun () -> bare_allgather elements)

let jobs = 1_000

(* A sleep of 1 ms lasts a little longer: the jobs measure what they take. *)
let dynamic () =
  let slept = ref 0. in
  let job _ =
    let began = Unix.gettimeofday () in
    Unix.sleepf 0.001;
    slept := !slept +. Unix.gettimeofday () -. began
  in
  let run () =
    slept := 0.;
    let took = timed (fun () -> ignore (M.parallel_map_dynamic job (Array.make jobs ()))) in
    let finish = M.ranks () in
    let all = M.parallel_reduce ~start:1 ~finish ~combine:( +. ) ~init:0. (fun _ -> !slept) in
    all /. float_of_int finish /. took
  in
  tell "efficiency" (List.fold_left Float.max 0. (List.init 20 (fun _ -> run ())))

(* {2 The model}

   A program of [n] parts of a second in all, and [k] operations: parts that sleep, so that more ranks
   than CPUs can be tried. *)

let operations = 50
let work = 1.

let sleeping () =
  let part = work /. float_of_int operations /. float_of_int (M.ranks ()) in
  let finish = M.ranks () in
  let run () =
    timed (fun () ->
        for _ = 1 to operations do
          ignore
            (M.parallel_reduce ~start:1 ~finish ~combine:( +. ) ~init:0. (fun _ ->
                 Unix.sleepf part;
                 1.))
        done)
  in
  tell "sleeping" (least 3 run)

let latency () =
  let run () =
    timed (fun () ->
        for _ = 1 to rounds do
          M.barrier ()
        done)
  in
  tell "latency" (least 20 run /. float_of_int rounds)

let modes =
  [
    ("n-body", n_body);
    ("monte-carlo", monte_carlo);
    ("reduce", reduce);
    ("gather", gather);
    ("dynamic", dynamic);
    ("sleeping", sleeping);
    ("latency", latency);
  ]

(* {2 The table} *)

(* Open MPI as root, and with more ranks than CPUs: up to version 4, and from 5 on. *)
let allow () =
  List.iter
    (fun name -> Unix.putenv name "1")
    [ "OMPI_ALLOW_RUN_AS_ROOT"; "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"; "OMPI_MCA_rmaps_base_oversubscribe" ];
  Unix.putenv "PRTE_MCA_rmaps_default_mapping_policy" ":oversubscribe"

(* The numbers that rank 0 tells. *)
let run ~ranks ~domains mode =
  Unix.putenv "MUSTER_DOMAINS" (string_of_int domains);
  let command =
    Printf.sprintf "mpirun --bind-to none -n %d %s %s 2>/dev/null" ranks
      (Filename.quote Sys.executable_name) mode
  in
  let lines = In_channel.input_all (Unix.open_process_in command) in
  let number line = Scanf.sscanf_opt line "%s %f" (fun name value -> (name, value)) in
  List.filter_map number (String.split_on_char '\n' lines)

let row what value bar = Printf.printf "| %s | %s | %s |\n%!" what value bar

let compare_programs mode =
  let time ranks domains = List.assoc "time" (run ~ranks ~domains mode) in
  let ranks, domains = least_of_both 5 (fun () -> time 2 1) (fun () -> time 1 2) in
  row
    (Printf.sprintf "%s (%.2f s), 2 ranks of 1 domain, of 1 rank of 2" mode domains)
    (Printf.sprintf "%.2f" (ranks /. domains))
    "1.05"

let compare_calls mode ~ranks what bar =
  let numbers = run ~ranks ~domains:1 mode in
  let ours = List.assoc "ours" numbers and bare = List.assoc "bare" numbers in
  row what (Printf.sprintf "%.2f" (ours /. bare)) bar

let efficiency () =
  let numbers = run ~ranks:4 ~domains:1 "dynamic" in
  row "1,000 jobs that sleep 1 ms, 4 ranks: efficiency"
    (Printf.sprintf "%.3f" (List.assoc "efficiency" numbers))
    "0.95"

(* An operation takes [a + b log2 ranks] beyond its longest part: the line nearest to what ranks that
   only wait for each other take (least squares). *)
let line points =
  let n = float_of_int (List.length points) in
  let sum f = List.fold_left (fun sum point -> sum +. f point) 0. points in
  let x = sum fst /. n and y = sum snd /. n in
  let b =
    sum (fun (x', y') -> (x' -. x) *. (y' -. y)) /. sum (fun (x', _) -> (x' -. x) *. (x' -. x))
  in
  (y -. (b *. x), b)

let model () =
  let latency ranks =
    let seconds = List.assoc "latency" (run ~ranks ~domains:1 "latency") in
    (Float.log2 (float_of_int ranks), seconds)
  in
  let points = List.map latency [ 2; 4; 8; 16 ] in
  let a, b = line points in
  let us (_, seconds) = Printf.sprintf "%.1f us" (seconds *. 1e6) in
  Printf.printf "\nAn operation on 2, 4, 8, 16 ranks: %s; about %.1f us + %.1f us x log2 of the ranks.\n\n"
    (String.concat ", " (List.map us points))
    (a *. 1e6) (b *. 1e6);
  Printf.printf "| ranks | predicted, s | measured, s | efficiency predicted |\n| --- | --- | --- | --- |\n";
  let predicted ranks =
    let n = float_of_int ranks in
    (work /. n) +. (float_of_int operations *. Float.max 0. (a +. (b *. Float.log2 n)))
  in
  let measured ranks = List.assoc "sleeping" (run ~ranks ~domains:1 "sleeping") in
  let row ranks =
    let measured = if ranks > 16 then None else Some (measured ranks) and time = predicted ranks in
    let text = Option.fold measured ~none:"" ~some:(Printf.sprintf "%.3f") in
    let efficiency time = work /. float_of_int ranks /. time in
    Printf.printf "| %d | %.4f | %s | %.2f |\n%!" ranks time text (efficiency time);
    (ranks, efficiency time, Option.map efficiency measured)
  in
  List.map row [ 2; 4; 8; 16; 64; 256; 1024; 4096 ]

(* {2 The picture} *)

let width = 640.
let height = 320.
let left = 60.
let bottom = height -. 50.

let picture rows =
  let x ranks = left +. (45. *. Float.log2 (float_of_int ranks)) in
  let y efficiency = bottom -. (220. *. efficiency) in
  let predicted = List.map (fun (ranks, e, _) -> (x ranks, y e)) rows in
  let dot (ranks, _, measured) =
    Option.map (fun e -> Svg.dot ~cls:"own" ~x:(x ranks) ~y:(y e)) measured
  in
  let tick (ranks, _, _) =
    Svg.text ~anchor:Middle ~cls:"tick" ~x:(x ranks) ~y:(bottom +. 18.) (string_of_int ranks)
  in
  let level e =
    [
      Svg.path ~cls:"grid" [ (left, y e); (width -. 20., y e) ];
      Svg.text ~anchor:End ~cls:"tick" ~x:(left -. 8.) ~y:(y e +. 4.) (Printf.sprintf "%.2f" e);
    ]
  in
  let title = "Efficiency of 50 operations in a second of work, by ranks" in
  let note = "Line: predicted from the cost of an operation. Dots: measured, with parts that sleep." in
  Svg.document ~width ~height ~title
    (List.concat_map level [ 0.; 0.25; 0.5; 0.75; 1. ]
    @ List.map tick rows
    @ [ Svg.path ~cls:"other" predicted ]
    @ List.filter_map dot rows
    @ [
        Svg.text ~cls:"title" ~x:left ~y:20. title;
        Svg.text ~cls:"note" ~x:left ~y:(height -. 12.) note;
      ])

let write_picture rows path = Out_channel.with_open_bin path (fun file -> output_string file (picture rows))

let table () =
  allow ();
  print_endline "| what | measured | bar |\n| --- | --- | --- |";
  compare_programs "n-body";
  compare_programs "monte-carlo";
  compare_calls "reduce" ~ranks:4 "a reduction of 4 floats on 4 ranks, of MPI_Allreduce in C" "3";
  compare_calls "gather" ~ranks:2 "Array.init of 10^7 floats on 2 ranks, of the same in C" "1.3";
  efficiency ()

let () =
  match Array.to_list Sys.argv |> List.tl with
  | [ "--svg"; path ] ->
    table ();
    write_picture (model ()) path
  | [] ->
    table ();
    ignore (model ())
  | [ "table" ] -> table ()
  | [ "model"; path ] ->
    allow ();
    write_picture (model ()) path
  | [ mode ] -> M.run (List.assoc mode modes)
  | _ -> prerr_endline "usage: main.exe [--svg FILE]"
