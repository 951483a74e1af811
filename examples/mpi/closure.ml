(* The job of [make demo] on a generated index: each rank reads it and builds the graph, and all share
   the walks, of which some are a thousand times as long as others. *)

open Muster_closure

let packages = 4_000
let block = 100
let texts () = [ Generate.index ~packages ]
let meter = Meter.create "closure"

let summary (weight : Weigh.weight) =
  let digest = Digest.to_hex (Digest.string (Marshal.to_string weight [])) in
  Printf.sprintf "%d packages, closures %s" (Array.length weight.count) digest

let ranks () =
  let _, catalogue, graph = Parallel.read meter (texts ()) in
  let n = Array.length catalogue.packages in
  let sizes = Array.map (fun (s : Stanza.t) -> s.size) catalogue.packages in
  let walk first =
    let weight = Weigh.weight ~packages:n and scratch = Weigh.scratch ~packages:n in
    let last = Int.min n (first + block) - 1 in
    for p = first to last do
      Weigh.closure graph ~sizes scratch weight p
    done;
    let part a = Array.sub a first (last - first + 1) in
    (part weight.count, part weight.size)
  in
  let firsts = Array.init ((n + block - 1) / block) (fun i -> i * block) in
  let parts = Array.to_list (Muster_mpi.parallel_map_dynamic walk firsts) in
  let count = Array.concat (List.map fst parts) and size = Array.concat (List.map snd parts) in
  summary { count; size }

let local () = summary (Sequential.run meter (texts ())).weight
let () = Twin.main ~ranks ~local
