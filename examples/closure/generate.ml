(* The shares below are those of Debian 12 and of the release after it, rounded. *)

let default_packages = 65_000
let syllables = String.split_on_char ' ' "ba ce di fo gu ha ki lo mu ne pi ro su ta ve zo"
let syllables = Array.of_list syllables

let rec word i =
  let rest = i / Array.length syllables in
  let last = syllables.(i mod Array.length syllables) in
  if rest = 0 then last else word rest ^ last

let name i =
  match i mod 4 with
  | 0 -> "lib" ^ word i
  | 1 -> "lib" ^ word i ^ "-dev"
  | 2 -> word i
  | _ -> word i ^ "-data"

(* Packages with numbers close together share a few virtual ones. *)
let virtual_name random i =
  Printf.sprintf "virtual-%s-%d" (word (i / 20)) (Random.State.int random 5)

let upstream i = Printf.sprintf "%d.%d" (i mod 7) (i mod 29)
let version i = Printf.sprintf "%s.%d-%d" (upstream i) (i mod 5) (1 + (i mod 3))
let older_version i = Printf.sprintf "%s~rc%d-1" (upstream i) (i mod 5)
let skew = 6.5
let chance random percent = Random.State.int random 1000 < int_of_float (10. *. percent)

(* How many clauses a package's dependencies have. *)
let clauses random =
  let between low high = low + Random.State.int random (high - low + 1) in
  match Random.State.int random 1000 with
  | n when n < 120 -> 0
  | n when n < 320 -> 1
  | n when n < 610 -> between 2 3
  | n when n < 850 -> between 4 7
  | n when n < 957 -> between 8 15
  | n when n < 992 -> between 16 31
  | n when n < 999 -> between 32 63
  | _ -> between 64 250

(* Few packages are needed by many: the lower the number, the likelier. The power is
   what gives closures the sizes of real ones. But for one in a hundred, which may lead
   back to a neighbour, dependencies go to lower numbers. *)
let target random ~packages i =
  if chance random 1. then min (packages - 1) (i + Random.State.int random 3)
  else int_of_float ((Random.State.float random 1. ** skew) *. float_of_int i)

let bounded random target =
  match Random.State.int random 100 with
  | n when n < 25 -> name target
  | n when n < 60 -> Printf.sprintf "%s (>= %s)" (name target) (upstream target)
  | n when n < 75 -> Printf.sprintf "%s (= %s)" (name target) (version target)
  | n when n < 96 -> Printf.sprintf "%s (>= %s)" (name target) (older_version target)
  | n when n < 98 -> Printf.sprintf "%s (<< %d)" (name target) (8 + (target mod 7))
  | n when n < 99 -> name target ^ ":any"
  | _ -> Printf.sprintf "%s (>> %s)" (name target) (version target)

let clause random ~packages i =
  let target () = target random ~packages i in
  let one () = bounded random (target ()) in
  let some_virtual () = virtual_name random (target ()) in
  match Random.State.int random 1000 with
  | n when n < 25 ->
    let first = one () in
    first ^ " | " ^ one ()
  | n when n < 35 ->
    let first = one () in
    first ^ " | " ^ some_virtual ()
  | n when n < 55 -> some_virtual ()
  | _ -> one ()

let add_list buffer field items =
  if items <> [] then Printf.bprintf buffer "%s: %s\n" field (String.concat ", " items)

(* One package in six provides something; one offer in two says which version. *)
let offers random i =
  let offer _ =
    let name = virtual_name random i in
    if chance random 50. then Printf.sprintf "%s (= %s)" name (version i) else name
  in
  if chance random 17. then List.init (1 + Random.State.int random 9) offer else []

let hex parts = Digest.to_hex (Digest.string (String.concat " " parts))

let add_description buffer i version =
  let name = name i in
  let id = hex [ name ] in
  Printf.bprintf buffer "Description: the %s of %s, made up\n" (word (i mod 997)) name;
  Printf.bprintf buffer "Homepage: https://example.org/%s\nDescription-md5: %s\n" name id;
  Printf.bprintf buffer "Tag: implemented-in::c,\n uitoolkit::none, use::%s\n" id;
  Printf.bprintf buffer "Section: misc\nPriority: optional\n";
  Printf.bprintf buffer "Filename: pool/main/%s/%s_%s_amd64.deb\n" name name version;
  Printf.bprintf buffer "Size: %d\nMD5sum: %s\n" (1000 * (i + 1)) (hex [ name; version ]);
  Printf.bprintf buffer "SHA256: %s%s\n\n" id (hex [ version; name ])

let installed_size random =
  let magnitude = 5 + Random.State.int random 14 in
  Random.State.int random (1 lsl magnitude)

let add_stanza random buffer ~packages i version =
  Printf.bprintf buffer "Package: %s\nVersion: %s\n" (name i) version;
  Printf.bprintf buffer "Installed-Size: %d\n" (installed_size random);
  Printf.bprintf buffer "Maintainer: Makers of %s <%s@example.org>\n" (word i) (name i);
  Printf.bprintf buffer "Architecture: %s\n" (if i mod 2 = 0 then "amd64" else "all");
  add_list buffer "Provides" (offers random i);
  let needs = List.init (clauses random) (fun _ -> clause random ~packages i) in
  let first, others = if chance random 1. then (needs, []) else ([], needs) in
  add_list buffer "Pre-Depends" first;
  add_list buffer "Depends" others;
  add_description buffer i version

(* An index is in the order of names, which has nothing to do with who needs whom. *)
let shuffled random n =
  let order = Array.init n Fun.id in
  for i = n - 1 downto 1 do
    let j = Random.State.int random (i + 1) in
    let item = order.(i) in
    order.(i) <- order.(j);
    order.(j) <- item
  done;
  order

let index ~packages =
  let random = Random.State.make [| packages |] in
  let buffer = Buffer.create (1000 * (packages + 1)) in
  let add i =
    if chance random 40. then add_stanza random buffer ~packages i (older_version i);
    add_stanza random buffer ~packages i (version i)
  in
  Array.iter add (shuffled random packages);
  Buffer.contents buffer
