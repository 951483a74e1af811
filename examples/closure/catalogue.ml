type t = { packages : Stanza.t array; names : Names.t; number : int array }

let is_newer (a : Stanza.t) (b : Stanza.t) =
  Version.compare_spans a.name.text a.version b.name.text b.version > 0

let newest names (stanzas : Stanza.t array) first =
  let best = ref stanzas.(first) and other = ref (Names.next names first) in
  while !other >= 0 do
    if is_newer stanzas.(!other) !best then best := stanzas.(!other);
    other := Names.next names !other
  done;
  !best

let firsts names stanzas =
  let is_first = Array.make (Array.length stanzas) true in
  Array.iteri
    (fun item _ ->
      let next = Names.next names item in
      if next >= 0 then is_first.(next) <- false)
    stanzas;
  let firsts = ref [] in
  for item = Array.length stanzas - 1 downto 0 do
    if is_first.(item) then firsts := item :: !firsts
  done;
  Array.of_list !firsts

let make names ~firsts stanzas packages =
  let number = Array.make (Array.length stanzas) (-1) in
  Array.iteri (fun package item -> number.(item) <- package) firsts;
  { packages; names; number }

let find t name =
  let first = Names.first t.names name in
  if first < 0 then -1 else t.number.(first)
