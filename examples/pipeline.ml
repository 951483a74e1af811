(* The sieve of Eratosthenes as a pipeline. Each stage is a task with some of the primes up to the
   root of [n]. It receives blocks of flags from one channel, strikes out the multiples of its
   primes, and sends the blocks to the next stage. A stage does not use a block that it has sent,
   so no lock is needed. There may be more stages than workers: a stage that waits leaves its
   worker to another. The channels are bounded, so no stage gets far ahead of the next. *)

module Chan = Muster.Chan

(* The flags of [length] numbers from [first] on, ['\001'] for those that are not struck out. *)
type block = { first : int; flags : Bytes.t }

let size = 262_144

(* The numbers from 2 to [n]. *)
let block_at n first = { first; flags = Bytes.make (min size (n - first + 1)) '\001' }
let blocks n = Seq.unfold (fun first -> if first > n then None else Some (first, first + size)) 2

let strike p { first; flags } =
  let from = max (p * p) ((first + p - 1) / p * p) in
  let i = ref (from - first) in
  while !i < Bytes.length flags do
    Bytes.unsafe_set flags !i '\000';
    i := !i + p
  done

let count { flags; _ } = Bytes.fold_left (fun sum flag -> sum + Char.code flag) 0 flags

let small_primes n =
  let root = int_of_float (sqrt (float_of_int n)) in
  let is_prime x =
    let rec from d = d * d > x || (x mod d <> 0 && from (d + 1)) in
    from 2
  in
  List.filter is_prime (List.init (max 0 (root - 1)) (fun i -> i + 2))

let sequential n =
  let primes = small_primes n in
  let left first =
    let block = block_at n first in
    List.iter (fun p -> strike p block) primes;
    count block
  in
  Seq.fold_left (fun sum first -> sum + left first) 0 (blocks n)

let stage input primes =
  let output = Chan.bounded 4 in
  let strike_all block =
    List.iter (fun p -> strike p block) primes;
    Chan.send output block
  in
  let run () =
    Chan.iter strike_all input;
    Chan.close output
  in
  ignore (Muster.Task.async run);
  output

(* The small primes are the most work: each stage gets some. *)
let deal stages primes =
  List.init stages (fun i -> List.filteri (fun k _ -> k mod stages = i) primes)

let parallel ~stages n =
  let source = Chan.bounded 4 in
  let last = List.fold_left stage source (deal stages (small_primes n)) in
  let feed () =
    Seq.iter (fun first -> Chan.send source (block_at n first)) (blocks n);
    Chan.close source
  in
  ignore (Muster.Task.async feed);
  Seq.fold_left (fun sum block -> sum + count block) 0 (Chan.to_seq last)

let rows stages n =
  [
    Example.row
      (Printf.sprintf "%d stages" stages)
      ~shows:
        "Stages hand blocks on through channels of four places, so none runs far ahead. Expect \
         less than the number of domains."
      ~show:string_of_int
      ~sequential:(fun () -> sequential n)
      ~parallel:(fun _ -> parallel ~stages n);
  ]

let example =
  let size =
    Example.size ~max:1_000_000_000 ~default:20_000_000 "Count the primes up to $(docv)."
  in
  let stages = Example.option ~default:8 "stages" "Make a pipeline of $(docv) stages." in
  Example.command ~name:"pipeline" ~doc:"a sieve, as a pipeline of tasks and channels" ~size
    Cmdliner.Term.(const rows $ stages)
