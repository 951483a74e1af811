let chunk_size = 128 * 1024
let shards = 32
let step = 512

(* For small [f] only. What an iteration costs is remembered for each loop body in the
   program: the phases whose steps are long have loops of their own. *)
let map f items =
  let n = Array.length items in
  if n = 0 then [||]
  else begin
    let results = Array.make n (f items.(0)) in
    Muster.parallel_for ~start:1 ~finish:(n - 1) (fun i -> results.(i) <- f items.(i));
    results
  end

let group names =
  let table = Names.create ~shards names (map (Names.shard ~shards) names) in
  Muster.parallel_for ~start:0 ~finish:(shards - 1) (Names.fill table);
  table

let parse meter texts =
  let bytes = List.fold_left (fun sum text -> sum + String.length text) 0 texts in
  Meter.phase meter "parse" ~steps:(bytes / chunk_size) (fun advance ->
      let chunks = Array.concat (List.map (Stanza.cut ~size:chunk_size) texts) in
      let last = Array.length chunks - 1 in
      let stanzas = Array.make (last + 1) [||] in
      Muster.parallel_for ~start:0 ~finish:last (fun i ->
          stanzas.(i) <- Stanza.parse chunks.(i);
          advance 1);
      Array.concat (Array.to_list stanzas))

let merge meter stanzas =
  Meter.phase meter "merge" ~steps:1 (fun _ ->
      let names = group (map (fun (s : Stanza.t) -> s.name) stanzas) in
      let firsts = Catalogue.firsts names stanzas in
      let packages = map (Catalogue.newest names stanzas) firsts in
      Catalogue.make names ~firsts stanzas packages)

let provide meter (catalogue : Catalogue.t) =
  Meter.phase meter "provide" ~steps:1 (fun _ ->
      let last = Array.length catalogue.packages - 1 in
      let offers = Array.make (last + 1) [||] in
      Muster.parallel_for ~start:0 ~finish:last (fun p ->
          offers.(p) <- Offer.of_package catalogue p);
      let offers = Array.concat (Array.to_list offers) in
      let names = group (map (fun (o : Offer.t) -> o.name) offers) in
      { Offer.offers; names })

let resolve meter (catalogue : Catalogue.t) offers =
  let packages = Array.length catalogue.packages in
  Meter.phase meter "resolve" ~steps:packages (fun advance ->
      let graph = Array.make packages Graph.alone in
      Muster.parallel_for ~start:0 ~finish:(packages - 1) (fun p ->
          graph.(p) <- Graph.node catalogue offers p;
          if p land (step - 1) = step - 1 then advance step);
      graph)

(* A walk needs scratch memory as large as the graph: one for each worker. *)
let weigh pool meter (catalogue : Catalogue.t) graph =
  let packages = Array.length catalogue.packages in
  let sizes = Array.map (fun (s : Stanza.t) -> s.size) catalogue.packages in
  Meter.phase meter "weigh" ~steps:packages (fun advance ->
      let workers = Muster.Pool.size pool in
      let scratch = Array.init workers (fun _ -> Weigh.scratch ~packages) in
      let weight = Weigh.weight ~packages in
      Muster.Team.for_n_dynamic pool packages (fun ~worker p ->
          Weigh.closure graph ~sizes scratch.(worker) weight p;
          if p land (step - 1) = step - 1 then advance step);
      weight)

let read meter texts =
  let stanzas = parse meter texts in
  let catalogue = merge meter stanzas in
  let graph = resolve meter catalogue (provide meter catalogue) in
  (Array.length stanzas, catalogue, graph)

let run pool meter texts =
  let stanzas, catalogue, graph = Muster.Pool.run pool (fun () -> read meter texts) in
  let weight = weigh pool meter catalogue graph in
  { Answer.stanzas; packages = catalogue.packages; graph; weight }
