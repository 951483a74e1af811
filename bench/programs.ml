module Fib = Muster_examples.Fib
module Fork_union = Muster_examples.Fork_union_nbody
module Life = Muster_examples.Life
module Nbody = Muster_examples.Nbody
module Spectral_norm = Muster_examples.Spectral_norm
open Experiment

(* 1, 2, 4, … and the number asked for. *)
let domain_counts options =
  let rec powers d = if d >= options.domains then [ options.domains ] else d :: powers (2 * d) in
  powers 1

(* The answer is read after the clock has stopped, and must be the first contender's. *)
type 'a program = { prepare : unit -> 'a; digest : 'a -> string; expected : string option ref }

let program ~prepare ~digest = { prepare; digest; expected = ref None }

let timed { prepare; digest; expected } run =
  let state = prepare () in
  let cost = Clock.time (fun () -> run state) in
  let got = digest state in
  match !expected with
  | None ->
    expected := Some got;
    cost
  | Some answer when String.equal answer got -> cost
  | Some answer -> failwith (Printf.sprintf "answers %s, not %s" got answer)

let speed_up options what =
  {
    claim = what ^ " against the sequential program";
    subject = muster options.domains;
    against = Some sequential;
    limit = At_least 1.9;
  }

let compare options ~name ~title ?(bar = true) ?(also = []) ~alone ~muster ~domainslib program =
  let contenders domains =
    Pools.contenders ~domains
      ~muster:(fun pool -> timed program (muster pool))
      ~domainslib:(fun pool -> timed program (domainslib pool))
  in
  {
    name;
    title;
    quantity = Time;
    contenders =
      { who = sequential; run = (fun () -> timed program alone) }
      :: List.concat_map contenders (domain_counts options)
      @ also;
    bars = (if bar then [ speed_up options title ] else []);
  }

(* ---- Fibonacci ---- *)

let rec rival_fib pool ~cutoff n =
  if n <= cutoff then Fib.sequential n
  else
    let a = Rival.async pool (fun () -> rival_fib pool ~cutoff (n - 1)) in
    let b = rival_fib pool ~cutoff (n - 2) in
    Rival.await pool a + b

let fib options =
  let n = sized options ~quick:25 ~full:42 in
  let cutoff = sized options ~quick:12 ~full:20 in
  let program = program ~prepare:(fun () -> ref 0) ~digest:(fun r -> string_of_int !r) in
  compare options program ~name:"fib"
    ~title:(Printf.sprintf "fib %d with cut-off %d" n cutoff)
    ~alone:(fun result -> result := Fib.sequential n)
    ~muster:(fun _ result -> result := Fib.parallel_above ~cutoff n)
    ~domainslib:(fun pool result -> result := rival_fib pool ~cutoff n)

(* ---- Spectral norm ---- *)

let rival_multiply pool times u v =
  let finish = Array.length v - 1 in
  Rival.parallel_for pool ~start:0 ~finish (fun i -> v.(i) <- times u i)

let spectral_norm options =
  let n = sized options ~quick:128 ~full:4096 in
  let prepare () = ref 0. in
  let program = program ~prepare ~digest:(fun r -> Float.to_string !r) in
  compare options program ~name:"spectral-norm"
    ~title:(Printf.sprintf "spectral norm of %d" n)
    ~alone:(fun result -> result := Spectral_norm.sequential n)
    ~muster:(fun _ result -> result := Spectral_norm.parallel n)
    ~domainslib:(fun pool result -> result := Spectral_norm.norm (rival_multiply pool) n)

(* ---- Life ---- *)

let rival_generation pool board next =
  Rival.parallel_for pool ~start:0 ~finish:(Array.length board - 1) (Life.next_row_of board next)

let fingerprint board =
  Digest.to_hex (Digest.bytes (Bytes.concat Bytes.empty (Array.to_list board)))

let life options =
  let size = sized options ~quick:64 ~full:1024 in
  let iterations = sized options ~quick:16 ~full:512 in
  let prepare () = ref (Life.random size) in
  let program = program ~prepare ~digest:(fun board -> fingerprint !board) in
  compare options program ~name:"life"
    ~title:(Printf.sprintf "Life, %d x %d cells, %d generations" size size iterations)
    ~alone:(fun board -> board := Life.sequential ~iterations !board)
    ~muster:(fun _ board -> board := Life.parallel ~iterations !board)
    ~domainslib:(fun pool board -> board := Life.after (rival_generation pool) ~iterations !board)

(* ---- n-body ---- *)

let rival_nbody pool ~pull ~iterations bodies =
  for _ = 1 to iterations do
    Rival.parallel_for pool ~start:0 ~finish:(Array.length bodies - 1) (pull bodies);
    Array.iter Nbody.move bodies
  done

let nbody_with options ~name ~what ~pull =
  let size = sized options ~quick:64 ~full:1024 in
  let iterations = sized options ~quick:4 ~full:100 in
  let prepare () = Nbody.random size in
  let program = program ~prepare ~digest:(fun b -> Float.to_string (Nbody.energy b)) in
  compare options program ~name ~bar:false
    ~title:(Printf.sprintf "n-body, %d bodies, %d steps, %s" size iterations what)
    ~alone:(Nbody.sequential ~pull ~iterations)
    ~muster:(fun _ -> Nbody.parallel ~pull ~iterations)
    ~domainslib:(fun pool -> rival_nbody pool ~pull ~iterations)

let nbody options =
  nbody_with options ~name:"nbody" ~what:"accumulated locally" ~pull:Nbody.pull_locally

let nbody_shared options =
  nbody_with options ~name:"nbody-shared" ~what:"with false sharing" ~pull:Nbody.pull_in_place

(* ---- Fork Union's n-body ---- *)

let rival_fork_union pool ~iterations system =
  let finish = Array.length system.Fork_union.bodies - 1 in
  for _ = 1 to iterations do
    Rival.parallel_for pool ~start:0 ~finish (Fork_union.compute_force system);
    Rival.parallel_for pool ~start:0 ~finish (Fork_union.apply_force system)
  done

let fork_union_nbody options =
  let size = 128 and iterations = sized options ~quick:20 ~full:50_000 in
  let digest system = Float.to_string (Array.fold_left ( +. ) 0. (Fork_union.positions system)) in
  let program = program ~prepare:(fun () -> Fork_union.random size) ~digest in
  let dynamic domains =
    let on pool = timed program (Fork_union.parallel_dynamic pool ~iterations) in
    let run () = Pools.muster ~domains on in
    { who = { name = "muster-dynamic"; domains }; run }
  in
  let rivals =
    of_rivals options ~t_name:"fork-union-nbody" ~domains:options.domains ~size:iterations
  in
  compare options program ~name:"fork-union-nbody"
    ~title:(Printf.sprintf "Fork Union's n-body, %d bodies, %d steps" size iterations)
    ~also:(List.map dynamic (domain_counts options) @ rivals)
    ~alone:(Fork_union.sequential ~iterations)
    ~muster:(fun pool -> Fork_union.parallel_slices pool ~iterations)
    ~domainslib:(fun pool -> rival_fork_union pool ~iterations)

let experiments options =
  List.map
    (fun experiment -> experiment options)
    [ fib; spectral_norm; life; nbody; nbody_shared; fork_union_nbody ]
