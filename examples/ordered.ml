(* An ordered pipeline: a producer makes blocks, workers compress them, and a consumer writes the
   results in the order of the blocks. The workers are at most a window of blocks ahead of the
   consumer, so memory does not grow with the number of blocks. *)

module Task = Muster.Task

let length = 16_384

(* Text with runs, from a generator; each block depends on the one before, as in a file. *)
let block seed =
  let state = ref seed and left = ref 0 and letter = ref 'a' in
  let next _ =
    if !left = 0 then begin
      state := ((!state * 25_214_903_917) + 11) land 0xFFFF_FFFF_FFFF;
      left := 1 + ((!state lsr 20) land 15);
      letter := Char.chr (97 + ((!state lsr 30) land 15))
    end;
    decr left;
    !letter
  in
  let text = String.init length next in
  (text, !state)

let blocks n =
  let next (i, seed) =
    if i = n then None
    else
      let text, seed = block seed in
      Some (text, (i + 1, seed))
  in
  Seq.unfold next (0, 42)

(* Each run as its length and its letter, and the digest of the block. *)
let compress text =
  let out = Buffer.create 1024 in
  let rec run from at =
    if at < String.length text && text.[at] = text.[from] then run from (at + 1)
    else begin
      Buffer.add_string out (string_of_int (at - from));
      Buffer.add_char out text.[from];
      if at < String.length text then run at at
    end
  in
  run 0 0;
  let digest = ref text in
  for _ = 1 to 4 do
    digest := Digest.string (!digest ^ text)
  done;
  Buffer.contents out ^ Digest.to_hex !digest

(* {2 Consumers} *)

(* The digest of all results in their order, and their length. *)
let write results =
  let add (digest, bytes) text = (Digest.string (digest ^ text), bytes + String.length text) in
  let digest, bytes = Seq.fold_left add ("", 0) results in
  Printf.sprintf "%s, %d bytes" (Digest.to_hex digest) bytes

(* Stops at the first result whose digest ends in a zero, of endlessly many. *)
let search results =
  let is_found (_, text) = String.ends_with ~suffix:"00" text in
  match Seq.find is_found (Seq.mapi (fun i text -> (i, text)) results) with
  | Some (i, _) -> Printf.sprintf "block %d" i
  | None -> "none"

let row label ~shows ~window blocks consume =
  Example.row label ~shows ~show:Fun.id
    ~sequential:(fun () -> consume (Seq.map compress blocks))
    ~parallel:(fun _ -> Task.with_map ~window compress blocks consume)

let rows window n =
  [
    row "results in order" ~window (blocks n) write
      ~shows:
        "Blocks are compressed in parallel and written in order. Making and writing them is \
         sequential, so expect less than the number of domains.";
    row "until one is found" ~window (blocks (-1)) search
      ~shows:"The producer is endless; the pipeline ends when the consumer has found its block.";
  ]

let example =
  let size = Example.size ~default:2_000 "Compress $(docv) blocks of 16 KB." in
  let window = Example.option ~default:32 "window" "Be ahead by at most $(docv) blocks." in
  Example.command ~name:"ordered" ~doc:"an ordered pipeline in bounded memory" ~size
    Cmdliner.Term.(const rows $ window)
