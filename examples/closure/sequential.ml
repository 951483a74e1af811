let step = 512

let map meter name items f =
  Meter.phase meter name ~steps:(Array.length items) (fun advance ->
      Array.mapi
        (fun i item ->
          if i land (step - 1) = step - 1 then advance step;
          f i item)
        items)

let parse meter texts =
  Meter.phase meter "parse" ~steps:(List.length texts) (fun advance ->
      let read text =
        let stanzas = Stanza.parse (Stanza.whole text) in
        advance 1;
        stanzas
      in
      Array.concat (List.map read texts))

let group names =
  let table = Names.create ~shards:1 names (Array.make (Array.length names) 0) in
  Names.fill table 0;
  table

let merge meter stanzas =
  Meter.phase meter "merge" ~steps:1 (fun _ ->
      let names = group (Array.map (fun (s : Stanza.t) -> s.name) stanzas) in
      let firsts = Catalogue.firsts names stanzas in
      let packages = Array.map (Catalogue.newest names stanzas) firsts in
      Catalogue.make names ~firsts stanzas packages)

let provide meter (catalogue : Catalogue.t) =
  Meter.phase meter "provide" ~steps:1 (fun _ ->
      let offer package _ = Offer.of_package catalogue package in
      let offers = Array.concat (Array.to_list (Array.mapi offer catalogue.packages)) in
      let names = group (Array.map (fun (o : Offer.t) -> o.name) offers) in
      { Offer.offers; names })

let resolve meter (catalogue : Catalogue.t) offers =
  map meter "resolve" catalogue.packages (fun p _ -> Graph.node catalogue offers p)

let weigh meter (catalogue : Catalogue.t) graph =
  let packages = Array.length catalogue.packages in
  let sizes = Array.map (fun (s : Stanza.t) -> s.size) catalogue.packages in
  Meter.phase meter "weigh" ~steps:packages (fun advance ->
      let scratch = Weigh.scratch ~packages and weight = Weigh.weight ~packages in
      for p = 0 to packages - 1 do
        Weigh.closure graph ~sizes scratch weight p;
        if p land (step - 1) = step - 1 then advance step
      done;
      weight)

let run meter texts =
  let stanzas = parse meter texts in
  let catalogue = merge meter stanzas in
  let offers = provide meter catalogue in
  let graph = resolve meter catalogue offers in
  let weight = weigh meter catalogue graph in
  { Answer.stanzas = Array.length stanzas; packages = catalogue.packages; graph; weight }
