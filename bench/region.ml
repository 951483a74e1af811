module Team = Muster.Team
open Experiment

let iterations = 128

(* The compiler may neither drop an iteration nor see through the call. *)
let trivial i = ignore (Sys.opaque_identity i)
let body = Sys.opaque_identity trivial
let body_of_worker = Sys.opaque_identity (fun ~worker:_ i -> trivial i)

let slice ~worker:_ ~start ~count =
  for i = start to start + count - 1 do
    body i
  done

let plain () =
  for i = 0 to iterations - 1 do
    body i
  done

let rival_loop pool () = Rival.parallel_for pool ~start:0 ~finish:(iterations - 1) body
let loop () = Muster.parallel_for ~start:0 ~finish:(iterations - 1) body
let cost options region = Measure.per_call ~budget:(budget options) region
let alone options = { who = sequential; run = (fun () -> cost options plain) }

let against_loops options region =
  let contenders =
    Pools.contenders ~domains:options.domains
      ~muster:(fun pool -> cost options (region pool))
      ~domainslib:(fun pool -> cost options (rival_loop pool))
  in
  alone options :: contenders

(* Called as Fork Union's regions are: by a domain that is not one of the workers. *)
let outside options region =
  let domains = options.domains in
  let run () = Pools.muster_outside ~domains (fun pool -> cost options (region pool)) in
  { who = { name = "muster-outside"; domains }; run }

let rivals options ?(domains = options.domains) name =
  of_rivals options ~t_name:name ~domains ~size:(int_of_float (budget options))

let slices options =
  let region pool () = Team.for_slices pool iterations slice in
  {
    name = "slices";
    title = "`Team.for_slices` over 128 trivial iterations, per region";
    quantity = Time;
    contenders = against_loops options region @ (outside options region :: rivals options "slices");
    bars =
      [
        {
          claim = "`Team.for_slices` against Domainslib's `parallel_for`, 128 iterations";
          subject = muster options.domains;
          against = Some (domainslib options.domains);
          limit = At_least 3.;
        };
      ];
  }

let loop options =
  {
    name = "loop";
    title = "`parallel_for` over 128 trivial iterations, per loop";
    quantity = Time;
    contenders = against_loops options (fun _ -> loop);
    bars =
      [
        {
          claim = "`parallel_for` against `for` with the same closure, 128 iterations";
          subject = muster options.domains;
          against = Some sequential;
          limit = At_most 1.5;
        };
      ];
  }

let dynamic options =
  let region pool () = Team.for_n_dynamic pool iterations body_of_worker in
  {
    name = "dynamic";
    title = "`Team.for_n_dynamic` over 128 trivial iterations, per region";
    quantity = Time;
    contenders = against_loops options region @ rivals options "dynamic";
    bars =
      [
        {
          claim = "`Team.for_n_dynamic` against Fork Union's, 128 iterations";
          subject = muster options.domains;
          against = Some { name = "fork-union-rust"; domains = options.domains };
          limit = At_least 5.;
        };
      ];
  }

let empty pool () = Team.broadcast pool ignore

let broadcast_contender ?oversubscribe options domains =
  let run () = Pools.muster ?oversubscribe ~domains (fun pool -> cost options (empty pool)) in
  { who = muster domains; run }

let broadcast options =
  let domains = options.domains in
  {
    name = "broadcast";
    title = "An empty `Team.broadcast`, per region";
    quantity = Time;
    contenders =
      broadcast_contender options domains
      :: outside options empty
      :: rivals options "broadcast" ~domains;
    bars =
      [
        {
          claim = "an empty `Team.broadcast` against Fork Union's `for_threads`";
          subject = muster domains;
          against = Some { name = "fork-union-rust"; domains };
          limit = At_most 0.8;
        };
      ];
  }

let crowded options domains =
  let here = muster domains in
  {
    name = Printf.sprintf "broadcast-%d" domains;
    title = Printf.sprintf "An empty `Team.broadcast` on %d domains, per region" domains;
    quantity = Time;
    contenders =
      broadcast_contender ~oversubscribe:true options domains :: rivals options "broadcast" ~domains;
    bars =
      [
        {
          claim =
            Printf.sprintf "`Team.broadcast` on %d domains against Fork Union's in C++" domains;
          subject = here;
          against = Some { name = "fork-union-c++"; domains };
          limit = At_most 1.5;
        };
        {
          claim = Printf.sprintf "`Team.broadcast` on %d domains, in nanoseconds" domains;
          subject = here;
          against = None;
          limit = At_most 1e6;
        };
      ];
  }

let experiments options =
  [
    slices options;
    dynamic options;
    loop options;
    broadcast options;
    crowded options 4;
    crowded options 8;
  ]
