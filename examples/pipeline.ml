(* The sieve as a pipeline: a task for each prime up to the root of [n] takes blocks of numbers
   from one channel, strikes out the multiples, and sends the rest to the next. There are more
   stages than workers: a stage that waits leaves its worker to another. The channels are
   bounded, so that no stage runs far ahead. *)

module Chan = Muster.Chan

let block = 1000
let blocks n = Seq.init ((n + block - 1) / block) (fun i -> (i * block) + 1)
let numbers n first = List.init (min block (n - first + 1)) (fun i -> first + i)
let strike p = List.filter (fun x -> x = p || x mod p <> 0)

let rec primes_to n =
  if n < 2 then []
  else
    let divides x p = x mod p = 0 in
    let small = primes_to (int_of_float (sqrt (float_of_int n))) in
    List.filter
      (fun x -> List.for_all (fun p -> x = p || not (divides x p)) small)
      (List.init (n - 1) (fun i -> i + 2))

let small_primes n = primes_to (int_of_float (sqrt (float_of_int n)))

(* 1 is struck out by nobody, and is no prime. *)
let sequential n =
  let primes = small_primes n in
  let left first = List.fold_left (fun block p -> strike p block) (numbers n first) primes in
  Seq.fold_left (fun sum first -> sum + List.length (left first)) (-1) (blocks n)

let stage input p =
  let output = Chan.bounded 4 in
  let run () =
    Chan.iter (fun block -> Chan.send output (strike p block)) input;
    Chan.close output
  in
  ignore (Muster.Task.async run);
  output

let parallel pool n =
  Muster.Pool.run pool @@ fun () ->
  let source = Chan.bounded 4 in
  let last = List.fold_left stage source (small_primes n) in
  let feed () =
    Seq.iter (fun first -> Chan.send source (numbers n first)) (blocks n);
    Chan.close source
  in
  ignore (Muster.Task.async feed);
  Seq.fold_left (fun sum block -> sum + List.length block) (-1) (Chan.to_seq last)

let rows n =
  [
    Example.row "a stage for each prime" ~show:string_of_int
      ~sequential:(fun () -> sequential n)
      ~parallel:(fun pool -> parallel pool n);
  ]

let example =
  let size = Example.size ~max:100_000_000 ~default:1_000_000 "Count the primes up to $(docv)." in
  Example.command ~name:"pipeline" ~doc:"the sieve, as a pipeline of tasks and channels" ~size
    (Cmdliner.Term.const rows)
