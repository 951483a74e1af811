module C_nbody = Muster_examples.C_nbody
module Team = Muster.Team
open Experiment

(* ---- A loop ---- *)

external c_slices : int -> unit = "bench_slices"
external c_dynamic : int -> unit = "bench_dynamic"

(* The same bodies, called one by one from OCaml. *)
external slice : (int[@untagged]) -> (int[@untagged]) -> unit = "bench_slice_byte" "bench_slice"
[@@noalloc]

let iterations = 128

let contender name options region =
  let domains = options.domains in
  let cost pool = Measure.per_call ~budget:(budget options) (region pool) in
  { who = { name; domains }; run = (fun () -> Pools.muster ~domains cost) }

let at_most claim limit options ~subject ~against =
  let who name = { name; domains = options.domains } in
  { claim; subject = who subject; against = Some (who against); limit = At_most limit }

(* Slices of about a microsecond: a region in which both workers take part for sure. *)
let loops options =
  let body ~worker:_ ~start ~count = slice start count in
  let team pool () = Team.for_slices pool iterations body in
  {
    name = "c-slices";
    title = "`muster_for_slices` over 128 iterations of some 15 ns, per region";
    quantity = Time;
    contenders =
      [
        contender "team" options team;
        contender "muster.h" options (fun _ () -> c_slices iterations);
        contender "muster.h-dynamic" options (fun _ () -> c_dynamic iterations);
      ];
    bars =
      [
        at_most "`muster_for_slices` against `Team.for_slices` with the same body in C" 1.1 options
          ~subject:"muster.h" ~against:"team";
      ];
  }

(* ---- Fork Union's n-body ---- *)

let timed run =
  let system = C_nbody.random 128 in
  Clock.time (fun () -> run system)

let nbody options =
  let iterations = sized options ~quick:20 ~full:50_000 in
  let domains = options.domains in
  let against name run =
    let on pool = timed (run pool ~iterations) in
    { who = { name; domains }; run = (fun () -> Pools.muster ~domains on) }
  in
  let bar peer =
    at_most
      ("Fork Union's n-body in C against " ^ peer)
      1.1 options ~subject:"muster.h" ~against:peer
  in
  {
    name = "c-nbody";
    title = Printf.sprintf "Fork Union's n-body in C, 128 bodies, %d steps" iterations;
    quantity = Time;
    contenders =
      { who = sequential; run = (fun () -> timed (C_nbody.sequential ~iterations)) }
      :: against "muster.h" C_nbody.parallel_slices
      :: against "muster.h-dynamic" C_nbody.parallel_dynamic
      :: of_rivals options ~t_name:"fork-union-nbody" ~domains ~size:iterations;
    bars = List.map bar [ "openmp-static"; "fork-union-rust-static" ];
  }

let experiments options = [ loops options; nbody options ]
